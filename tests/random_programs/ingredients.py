"""What random programs are made of: a table of statements, one line each, by the feature they belong to.

A line says what kind of value it makes and how it is written. ``{kind}`` stands for a variable of that
kind, or for an expression of `EXPRESSIONS`; ``{kind:1}`` twice in a line is the same variable twice;
``{new}`` is the variable that the statement makes. Text without it is the right side of an assignment.

Kinds are

======================  ====================================================================================
vector, matrix, number  floats: n, n times n, and one
masked                  floats, as many as data decide
bvector, ivector        bools and small ints, n of them
cvector, cmatrix,       complex numbers
cnumber
hvector, jvector        halves, and small ints of any dtype, n of them
index, count            positions 0 ... n-1 and a number of elements: as many as data decide
int, axis               ints that are arguments, from 0 to 3 and an axis of a matrix
truth                   one bool
numbers                 a dict of numbers, read in its order
zero_d                  an array of shape ()
text, static            strings, and objects that can be hashed
any, result             what is returned as it is
======================  ====================================================================================

Kinds that begin with ``kept_`` are arrays closed over that change in place. A program sees such changes
where operations of a recording meet the array, not where plain NumPy computes with it alone, so that
beside them only variables appear that are recorded. A kind with ``~`` may come out as a plain value.
"""

from __future__ import annotations

from tests.random_programs.breadth import BREADTH
from tests.random_programs.instructions import INSTRUCTIONS, PARTS
from tests.random_programs.loops import LOOPS

__all__ = ["EXPRESSIONS", "HELPERS", "INGREDIENTS"]

INGREDIENTS: dict[str, list[tuple[str, str]]] = {
    "elementwise": [
        ("vector", "np.sin({vector})"),
        ("vector", "{vector} * {c} + {vector}"),
        ("vector", "{vector} - {number}"),
        ("vector", "np.where({bvector}, {vector}, {vector})"),
        ("vector", "np.where({vector:1} > {c}, {vector:1}, {c})"),
        ("vector", "np.maximum({vector}, {vector})"),
        ("vector", "np.clip({vector}, -1, {number})"),
        ("vector", "np.sqrt(np.abs({vector})) / {vector}"),
        ("vector", "np.exp(-{vector} ** 2)"),
        ("vector", "1 / {vector}"),
        ("vector", "{number} / {vector}"),
        ("vector", "{vector} ** {k}"),
        ("vector", "np.sign({vector}) * np.copysign(1.0, np.nan_to_num({vector}))"),
        ("vector", "tape.nn.relu({vector})"),
        ("vector", "np.arctan2({vector}, {vector})"),
        ("vector", "np.abs({vector})"),
        ("vector", "-{vector}"),
        ("matrix", "np.tanh({matrix})"),
        ("matrix", "np.minimum({matrix}, {vector})"),
        ("bvector", "{vector} > {c}"),
        ("bvector", "({vector} < {number}) | {bvector}"),
        ("bvector", "np.isfinite({vector})"),
        ("bvector", "{vector} == {vector}"),
        ("bvector", "~{bvector}"),
    ],
    "arithmetic": [
        ("number", "{number} * {c} + {number}"),
        ("number", "{number} / {number}"),
        ("number", "{number} ** {number}"),
        ("number", "{number} ** {k}"),
        ("number", "{c} ** {number}"),
        ("number", "{number} // {number}"),
        ("number", "{number} % {number}"),
        ("number", "{number} // {c}"),
        ("number", "divmod({number}, {c})[1]"),
        ("number", "abs({number})"),
        ("number", "-{number}"),
        ("number", "max({number}, {number})"),
        ("number", "min({number}, {c}, {number})"),
        ("number", "1 / {number}"),
        ("number", "np.sqrt({number})"),
        ("any", "sorted([{number}, {number}, {c}])"),
    ],
    "shape ()": [
        ("vector", "{vector} * {zero_d}"),
        ("number", "{zero_d} * {number}"),
        ("number", "np.sin({zero_d})"),
        ("number", "{zero_d}[()]"),
        ("number", "np.sum({zero_d})"),
        ("number", "{number} if {zero_d} > {c} else {zero_d} ** 2"),
        ("any", "{zero_d}"),
        ("any", "{zero_d}.reshape(1)"),
    ],
    "rounding": [
        ("count~", "int({number})"),
        ("any", "round({number})"),
        ("any", "round({number}, 1)"),
        ("any", "{c} < {number} < {c}"),
        ("truth~", "{number} < {number}"),
        ("truth~", "{number:1} == {number} != {number:1}"),
        ("any", "int({number}) % 3"),
    ],
    "masks": [
        ("masked", "{vector:1}[{vector:1} > {c}]"),
        ("masked", "{vector}[{bvector}]"),
        ("masked", "{matrix:1}[{matrix:1} > {c}]"),
        ("masked", "np.sin({masked}) * {number}"),
        ("masked", "{masked:1} - np.mean({masked:1})"),
        ("masked", "{masked:1} * {masked:1}.size"),
        ("masked", "{masked:1} / np.arange(1, len({masked:1}) + 1)"),
        ("masked", "np.zeros_like({masked:1}) + {number}"),
        ("masked", "np.ones({masked}.shape) * {number}"),
        ("masked", "np.concatenate([{masked}, {vector}])"),
        ("masked", "np.cumsum({masked})"),
        ("masked", "{masked}[::-1]"),
        ("masked", "{masked}[1:]"),
        ("number", "np.sum({masked})"),
        ("number", "np.sum({masked:1}) / {masked:1}.size"),
        ("number", "np.sum({vector:1}) / {vector:1}[{vector:1} > {c}].size"),
        ("number", "{masked:1} @ {masked:1}"),
        ("count~", "{masked}.size"),
        ("count~", "{masked}.shape[0]"),
        ("count~", "len({masked})"),
        ("count~", "{masked}.nbytes // 8"),
    ],
    "sets": [
        ("index~", "np.nonzero({vector} > {c})[0]"),
        ("index~", "np.flatnonzero({bvector})"),
        ("index~", "np.argwhere({vector} > {number})[:, 0]"),
        ("index~", "np.where({bvector})[0]"),
        ("index", "np.argsort({vector})"),
        ("masked", "np.compress({bvector}, {vector})"),
        ("masked", "np.extract({vector:1} > {c}, {vector:1})"),
        ("masked", "np.unique({vector})"),
        ("masked", "np.trim_zeros(np.maximum({vector}, 0))"),
        ("masked", "np.delete({vector}, {index})"),
        ("masked", "np.repeat({vector}, np.abs({ivector}))"),
        ("masked", "{vector}[{index}]"),
        ("masked", "np.take({vector}, {index})"),
        ("any", "np.unique({vector}, return_counts=True)[1]"),
        ("count~", "np.count_nonzero({vector} > {c})"),
        ("count~", "np.nonzero({vector})[0].size"),
        ("count~", "np.unique({vector}).size"),
        ("vector", "{vector} * {index}.size"),
    ],
    "iteration": [
        ("number~", "sum([e * {c} for e in {masked}])"),
        ("any", "[e + {number} for e in {masked}]"),
        ("any", "[float(k) for k in range(len({masked}))]"),
        ("vector", "{new} = {vector}\nfor e in {masked}:\n    {new} = {new} + e * {c}"),
        ("vector", "{new} = {vector}\nfor k in range({count} % 4):\n    {new} = {new} * {c} + k"),
        ("vector", "{new} = {vector}\nfor k in range({int}):\n    {new} = np.sin({new}) + k"),
        ("number", "{new} = {number}\nfor row in {matrix}:\n    {new} = {new} + row[0] * row[-1]"),
        ("any", "[k * v for k, v in enumerate({masked})]"),
        ("any", "[u * v for u, v in zip({masked}, {vector})]"),
        ("any", "list(reversed([e for e in {vector}]))"),
    ],
    "branches": [
        ("vector", "{vector} if {test} else {vector} * {c}"),
        ("number", "{number} if {test} else {number} - 1"),
        ("vector", "{new} = {vector}\nif {test}:\n    {new} = {new} * 2\nelif {test}:\n    {new} = -{new}"),
        ("number", "{new} = {number}\nfor _ in range(4):\n    if {new} < {c}: break\n    {new} /= 2"),
        ("number", "{new} = {number}\nwhile {c} < {new} < 9:\n    {new} = {new} * 1.5 + 1"),
        ("any", "[e for e in {vector} if e > {c}]"),
        ("any", "{test}"),
        ("number", "{number} and {number}"),
        ("number", "{number:1} or {number:1} + {c}"),
        ("any", "any(e > {c} for e in {vector})"),
    ],
    "except": [
        ("number~", "try:\n    {new} = {number} / {number}\nexcept ZeroDivisionError:\n    {new} = {number}"),
        ("number~", "try:\n    {new} = {vector}[{count}]\nexcept IndexError:\n    {new} = {number} + 1"),
        ("number~", "try:\n    {new} = np.max({masked})\nexcept ValueError:\n    {new} = {number}"),
        ("count~", "try:\n    {new} = int({number})\nexcept (OverflowError, ValueError):\n    {new} = 0"),
    ],
    "reductions": [
        ("number", "np.sum({vector})"),
        ("number", "{vector}.mean()"),
        ("number", "np.max({vector})"),
        ("number", "np.prod({vector})"),
        ("number", "np.std({vector})"),
        ("number", "{vector} @ {vector}"),
        ("number", "np.trace({matrix})"),
        ("number", "{vector}[{at}]"),
        ("number", "np.median({vector})"),
        ("number", "np.linalg.norm({vector})"),
        ("number", "{matrix}[0, -1]"),
        ("vector", "np.sum({matrix}, axis={axis})"),
        ("vector", "np.max({matrix}, axis={axis})"),
        ("vector", "np.sort({vector})"),
        ("vector", "np.cumsum({vector})"),
        ("vector", "np.maximum.accumulate({vector})"),
        ("count~", "np.argmax({vector})"),
        ("count~", "{bvector}.sum()"),
        ("truth~", "np.any({bvector})"),
        ("truth~", "np.all({vector} < {c})"),
        ("vector", "{vector}[np.argmax({vector})] * {vector}"),
    ],
    "linalg": [
        ("vector", "{matrix} @ {vector}"),
        ("matrix", "{matrix} @ {matrix}.T"),
        ("matrix", "np.outer({vector}, {vector})"),
        ("matrix", "{matrix} * {vector}[:, None]"),
        ("matrix", "np.diag({vector})"),
        ("vector", "np.diag({matrix})"),
        ("matrix", "np.stack([{vector}, {vector}])[:1] * {matrix}"),
        ("vector", "np.linalg.solve({spd}, {vector})"),
        ("matrix", "np.linalg.inv({spd})"),
        ("number", "np.linalg.det({spd})"),
        ("number", "np.linalg.slogdet({spd})[1]"),
        ("matrix", "np.linalg.cholesky({spd})"),
        ("vector", "np.linalg.eigvalsh({spd})"),
        ("vector", "np.einsum('ij,j->i', {matrix}, {vector})"),
        ("matrix", "np.triu({matrix})"),
        ("matrix", "{matrix}.reshape({vector}.size, -1)"),
    ],
    "integers": [
        ("vector", "{vector} * {int}"),
        ("vector", "{vector} ** {int}"),
        ("number", "{number} ** {int}"),
        ("vector", "np.roll({vector}, {int})"),
        ("vector", "{vector} * {ivector}"),
        ("vector", "{vector} + {bvector}"),
        ("vector", "{vector}[{ivector} % {vector}.size]"),
        ("ivector", "{ivector} * 2 - {int}"),
        ("ivector", "{ivector} // 2"),
        ("ivector", "np.where({bvector}, {ivector}, {int})"),
        ("ivector", "np.floor(np.clip(np.nan_to_num({vector}), -3, 3)).astype(int)"),
        ("number", "{ivector} @ {vector}"),
        ("any", "{ivector} ** 2 % 3"),
        ("any", "np.sum({bvector})"),
        ("any", "{int} * {count}"),
        ("count~", "{int} + {count}"),
        ("vector", "{vector} / {count}"),
        ("matrix", "np.full({matrix}.shape, {int}) * {number}"),
        ("number", "{number} * {truth}"),
    ],
    "derivatives": [
        ("vector", "tape.grad(lambda v: {loss})({vector})"),
        ("vector", "tape.value_and_grad(lambda v: {loss})({vector})[1]"),
        ("any", "tape.value_and_grad(lambda v: {loss})({vector})"),
        ("matrix", "tape.hessian(lambda v: {loss})({vector})"),
        ("matrix", "tape.jacobian(lambda v: {map})({vector})"),
        ("vector", "tape.jvp(lambda v: {map}, ({vector},), ({vector},))[1]"),
        ("vector", "tape.vjp(lambda v: {map}, {vector})[1]({vector})[0]"),
        ("vector", "tape.hvp(lambda v: {loss})({vector}, {vector})"),
        ("number", "tape.grad(lambda t: np.sum(t * {vector}) ** 2 + t)({number} * 1.0)"),
        ("number", "tape.grad(lambda t: np.sum(np.sin(t * {vector})))({number} * 1.0)"),
        ("vector", "tape.grad(lambda v: np.sum(tape.grad(lambda v: {loss})(v) ** 2))({vector})"),
        ("vector", "{vector} - {c} * tape.grad(lambda v: {loss})({vector})"),
        ("any", "tape.grad(lambda p: p['u'] * p['w'] ** 2)(dict(w={number} * 1.0, u={number} * 1.0))"),
    ],
    "dicts": [
        ("number", "list({numbers}.values())[0]"),
        ("number", "list({numbers:1}.values())[-1] - {numbers:1}['q']"),
        ("any", "list({numbers})"),
        ("any", "[k + k for k, v in {numbers}.items() if v > {c}]"),
        ("numbers", "{new} = dict()\nfor k, v in {numbers}.items():\n    {new}[k] = v * {c}"),
        ("numbers", "dict([(k, v + {number}) for k, v in reversed({numbers}.items())])"),
        ("numbers", "dict({numbers}, p={number})"),
        ("number", "sum([v * (j + 1) for j, v in enumerate({numbers}.values())])"),
        ("any", "next(iter({numbers}))"),
        ("number", "np.stack(list({numbers}.values()))[0]"),
        ("any", "tape.grad(lambda d: sum([v ** (j + 1) for j, v in enumerate(d.values())]))({numbers})"),
        ("any", "dict(first={vector}, second={numbers})"),
        ("any", "({numbers}, [{number}, None, 'text'])"),
    ],
    "hashing": [
        ("any", "len({{number}, {number}})"),
        ("any", "len(dict([({number}, 1), ({number}, 2)]))"),
        ("any", "{number} in [{number}, {c}]"),
        ("any", "[{number}, {c}].count({number})"),
        ("any", "{number} in {{c}, {c}}"),
    ],
    "static": [
        ("vector", "{vector} * 2 if {text} == 'up' else {vector}"),
        ("number", "{number} * len({text})"),
        ("any", "{static}"),
        ("any", "({static}, {text})"),
        ("vector", "{vector} + ({static} is None)"),
    ],
    "nesting": [
        ("any", "(({vector}, [{number}]), dict(a={matrix}, b=({int},)))"),
        ("any", "[{vector}] * {int}"),
        ("vector", "helper({vector})"),
        ("vector", "tape.compile(helper)({vector})"),
        ("vector", "tape.checkpoint(helper)({vector})"),
    ],
    "state": [
        ("vector", "counted({vector})"),
        ("vector", "logged({vector}) * {c}"),
        ("vector", "totalled({vector})"),
        ("vector", "averaged({vector})"),
        ("number", "logged({number})"),
        ("number", "{number} * totalled({vector})[0]"),
        ("vector", "counted({vector}) if {number} > {c} else {vector}"),
        ("vector", "tape.grad(lambda v: np.sum(counted(v) ** 2))({vector})"),
        ("number", "{number} + STATE.count"),
        ("number", "tape.scan(lambda s, e: (s + counted(e), None), {number}, {vector})[0] * STATE.count"),
        ("vector", "tape.fori_loop(0, 3, lambda i, s: s * {c} + totalled({vector}), {vector})"),
        ("vector", "tape.map(lambda e: np.sin(counted(e)), {vector})"),
        ("vector", "tape.checkpoint(lambda v: np.sin(v) * averaged(v))({vector})"),
        ("vector", "tape.grad(lambda v: np.sum(tape.checkpoint(lambda v: counted(v) ** 2)(v)))({vector})"),
        ("number", "tape.while_loop(lambda s: s < 3.0, lambda s: counted(s) + 0.7, np.clip({number}, 0, 2))"),
    ],
    "kept": [
        ("vector", "{vector} * {kept_vector}"),
        ("vector", "{kept_matrix} @ {vector}"),
        ("vector", "{vector} * {kept_int}"),
        ("vector", "{vector} * {kept_bool}"),
        ("vector", "{vector:1} * {vector:1} * {kept_int}"),
        ("vector", "{vector} + {kept_f32}"),
        ("vector", "np.where({kept_bool}, {vector}, {c})"),
        ("vector", "np.where({vector:1} > {kept_vector}, {vector:1}, {kept_vector})"),
        ("number", "np.sum({kept_bool} * {vector})"),
        ("vector", "{vector} * {kept_zero_d}"),
        ("vector", "{vector} + tape.ops.sin({kept_zero_d})"),
        ("vector", "{vector} - tape.ops.dot({kept_zero_d}, {kept_vector})"),
        ("vector", "{vector} * tape.ops.cos({kept_matrix})[0]"),
        ("vector", "{vector} + tape.nn.softplus({kept_vector})"),
        ("number", "{number} - tape.nn.mse_loss({kept_vector}, {vector})"),
        ("number", "{number} * tape.nn.huber_loss({kept_vector}, tape.ops.sin({kept_vector}))"),
        ("vector", "{vector} + tape.scipy.stats.norm.logpdf({kept_vector}, {kept_zero_d})"),
        ("vector", "{vector} * tape.scipy.special.softmax({kept_vector})"),
        ("vector", "{vector} - tape.checkpoint(lambda v: np.sin(v))({kept_vector})"),
        ("vector", "{vector} + tape.tree.ravel([{kept_zero_d}, {kept_vector}])[0][1:]"),
        ("number", "tape.cond({kept_zero_d} > {number}, np.sin, np.cos, {number})"),
        ("number", "np.sum({vector}, where={kept_bool}, initial=0)"),
        ("vector", "{vector} * {kept_vector}[::-1]"),
        ("vector", "{vector} * np.sin({kept_vector})"),
        ("vector", "{vector} - np.exp(-np.abs({kept_matrix})).sum(0)"),
        ("number", "{number} * np.tanh({kept_vector}).mean() + {kept_matrix}[0, -1]"),
        ("vector", "{vector} * float({kept_zero_d})"),
        ("vector", "tape.map(lambda e: np.sin(e * {kept_vector}[0]), {vector})"),
        ("vector", "tape.scan(lambda w, _: (np.sin(w * {kept_matrix}.max()), None), {vector}, None, 3)[0]"),
        ("vector", "tape.checkpoint(lambda v: np.sin(v * np.sum({kept_vector})))({vector})"),
        ("vector", "tape.cond({kept_vector}[0] > {c}, np.sin, np.cos, {vector})"),
        ("vector", "tape.switch({kept_vector}.argmax(), [np.sin, np.cos, np.tanh], {vector})"),
        ("vector", "np.roll({vector}, {kept_vector}.argmax())"),
        ("vector", "{vector} * max(1, {kept_vector}[0])"),
        ("vector", "{vector} * min({c}, {kept_int}[0], {kept_matrix}[1, 0])"),
        ("vector", "{vector} * (1 in {kept_int})"),
        ("vector", "{vector} * len(np.unique({kept_int}))"),
        ("vector", "{vector} * sum(1 for v in {kept_vector} if v > {c})"),
        ("vector", "np.sin({vector}) if any(v > {c} for v in {kept_vector}) else np.cos({vector})"),
        ("vector", "{vector:1} if {kept_vector}[0] > {kept_vector}[1] else np.tanh({vector:1})"),
        ("vector", "bounded({vector}, {kept_vector}[0])"),
        ("vector", "normalised({vector}, {kept_vector})"),
        ("vector", "normalised({vector}, {kept_vector} * {kept_zero_d})"),
        ("vector", "{kept_matrix}[0] - {vector}"),
        ("vector", "{number} * {kept_vector}"),
        ("masked", "{vector}[{kept_bool}]"),
        ("vector", "np.take({vector}, {kept_int}, mode='wrap')"),
        ("bvector", "{vector} < {kept_vector}"),
        ("vector", "tape.jacobian(lambda v: {kept_matrix} @ v)({vector}) @ {vector}"),
        ("matrix", "tape.jacobian(lambda v: {kept_matrix} @ v)({vector})"),
        ("matrix", "tape.hessian(lambda v: np.sum(({kept_matrix} @ v) ** 2))({vector})"),
        ("vector", "tape.grad(lambda v: v @ {kept_vector})({vector})"),
        ("vector", "tape.grad(lambda v: np.sum(v * v * {kept_int}))({vector})"),
        ("vector", "tape.jvp(lambda v: v * {kept_f32}, ({vector},), ({vector},))[1]"),
    ],
    **BREADTH,
    "loops": LOOPS,
    **INSTRUCTIONS,
}  # fmt: skip
"""Feature to (kind, text)."""

EXPRESSIONS: dict[str, list[tuple[str, str]]] = {
    "test": [
        ("branches", "np.sum({vector}) > {c}"),
        ("branches", "{number} > {c}"),
        ("rounding", "{c} < {number} < {c}"),
        ("branches", "{number} == {number}"),
        ("branches", "{truth}"),
        ("branches", "not {bvector}.all()"),
        ("branches", "{int} > 1"),
        ("branches", "{int} == {count}"),
        ("static", "{text} == 'up'"),
        ("masks", "{masked}.size > 1"),
        ("masks", "len({masked}) % 2"),
        ("sets", "np.unique({vector}).size == 1"),
        ("branches", "np.isnan({number})"),
        ("dicts", "next(iter({numbers})) == 'p'"),
    ],
    "loss": [
        ("derivatives", "np.sum(np.sin(v) * {vector})"),
        ("derivatives", "np.sum(v ** 3) * {number}"),
        ("derivatives", "v @ v if np.sum(v) > {c} else np.sum(v)"),
        ("derivatives", "np.max(v) * np.sum(np.abs(v))"),
        ("derivatives", "np.prod(v)"),
        ("derivatives", "np.sum(v * {vector}) / (1 + np.sum(v ** 2))"),
        ("derivatives", "np.sum(np.where(v > {c}, v * v, {number}))"),
        ("masks", "np.sum(v[v > {c}] ** 2)"),
        ("masks", "np.sum(v) ** 2 / (1 + v[v > {c}].size)"),
        ("masks", "np.sum(v ** 2 * len({masked}))"),
        ("sets", "np.sum(np.unique(v) ** 2)"),
        ("sets", "np.sum(v[np.flatnonzero(v > {c})] ** 3)"),
        ("iteration", "sum([e ** 2 for e in v])"),
        ("iteration", "np.sum(v) + sum([e * e for e in v if e > {c}])"),
        ("nesting", "np.sum(helper(v) ** 2)"),
        ("linalg", "v @ {matrix} @ v"),
        ("linalg", "np.sum(np.linalg.solve({spd}, v) ** 2)"),
        ("kept", "np.sum((v * {kept_vector}) ** 2)"),
        ("kept", "np.sum(({kept_matrix} @ v) ** 2)"),
        ("kept", "np.sum(v * v * {kept_int})"),
        ("kept", "np.sum(v * v * {kept_bool})"),
        ("kept", "np.sum(v * v * {kept_f32})"),
        ("loops", "tape.scan(lambda s, e: (np.tanh(s) + e * s, None), {number} * 1.0, v)[0]"),
        ("loops", "np.sum(tape.fori_loop(0, 3, lambda i, s: s * v + {c} * i, {vector}))"),
        ("loops", "np.sum(tape.map(lambda row: v @ row, {matrix}) ** 2)"),
    ],
    "map": [
        ("derivatives", "np.sin(v) * {vector}"),
        ("derivatives", "v * v"),
        ("derivatives", "v * {number}"),
        ("linalg", "{matrix} @ v"),
        ("masks", "v * v[v > {c}].size"),
        ("branches", "v * v if np.sum(v) > {number} else -v"),
        ("kept", "{kept_matrix} @ v"),
        ("kept", "v * {kept_int}"),
        ("kept", "np.cumsum(v) * {kept_vector}"),
        ("loops", "tape.scan(lambda s, e: (s + e, s * e), {number} * 1.0, v)[1]"),
        ("loops", "tape.scan(lambda s, e: (s * v + e, None), v, {matrix})[0]"),
    ],
    "write": [
        ("inplace", "{new}[{at}] = {number}"),
        ("inplace", "{new}[{new} > {c}] = {number}"),
        ("inplace", "{new}[{bvector}] = {c}"),
        ("inplace", "{new} *= {vector}"),
        ("inplace", "{new} += {number}"),
        ("inplace", "{new}[{index}] += 1.0"),
        ("inplace", "np.add.at({new}, {index}, {c})"),
        ("inplace", "{new}[::2] *= {c}"),
        ("inplace", "{new}[:] = {vector}"),
        ("inplace", "{new}.fill({c})"),
        ("inplace", "np.multiply({new}, {c}, out={new})"),
        ("inplace", "{new}[-1:] = {vector}[:1]"),
        ("kept", "{new} -= {kept_vector}"),
        ("kept", "{new}[{kept_bool}] = {number}"),
    ],
    **PARTS,
    "spd": [
        (feature, "(np.eye({vector:9}.size) * 4 + np.outer(np.sin({vector:9}), np.sin({vector:9})))")
        for feature in ("linalg", "factorizations")
    ],
    "c": [("", text) for text in ("0.3", "-0.3", "0.7", "1.5", "2.0", "-1.2", "0.0")],
    "k": [("", text) for text in ("0", "-1", "2", "3")],
    "at": [("", "0"), ("", "-1")],
}
"""Parts of statements: kind to (feature, text)."""

HELPERS = {
    "counted": """\
def counted(v):
    STATE.count += 1
    return v
""",
    "logged": """\
def logged(v):
    STATE.log.append(v)
    STATE.last = v
    return v
""",
    "totalled": """\
def totalled(v):
    STATE.total = STATE.total + np.sum(v)
    return v * 2.0
""",
    "averaged": """\
def averaged(v):
    STATE.mean = 0.9 * STATE.mean + v
    return STATE.mean
""",
    "helper": """\
def helper(v):
    return act(v) * scale + bias.value
""",
    "bounded": """\
def bounded(v, low):
    return v if low > 0 else -v
""",
    "normalised": """\
def normalised(v, by):
    norm = np.linalg.norm(by)
    return v * by / norm if norm > 1 else v * by
""",
}
"""Plain functions that are reached by name."""
