"""Ingredients with loops and branches as functions, a line each as in `ingredients`."""

from __future__ import annotations

__all__ = ["LOOPS"]

LOOPS: list[tuple[str, str]] = [
    ("number", "tape.scan(lambda s, e: (s * {c} + e * {number}, None), {number} * 1.0, {vector})[0]"),
    ("vector", "tape.scan(lambda s, e: (s + e, s * e - {c}), {number} * 1.0, {vector})[1]"),
    ("vector", "tape.scan(lambda s, e: (s + e, s), {number}, {vector}, reverse=True)[1]"),
    ("vector", "tape.scan(lambda s, e: (np.maximum(s, e), None), {vector}, {matrix})[0]"),
    ("matrix", "tape.scan(lambda s, e: (s + {c} * e, np.sin(s) * {vector}), {vector}, {matrix})[1]"),
    ("any", "tape.scan(lambda s, e: ((s[1], s[0] + 1), (s, e)), ({int}, {int}), ({vector}, {ivector}))"),
    ("any", "tape.scan(lambda s, e: (s ^ e, ~e), {truth}, {bvector})"),
    ("any", "tape.scan(lambda s, e: (s + e, dict(a=s, b=(e, None))), {int}, {ivector})"),
    ("any", "tape.scan(lambda s, e: (e * 1.0, ({vector}, e, s)), {vector}, {matrix})"),
    ("vector", "tape.fori_loop(0, {int}, lambda i, s: np.cos(s) + i * {number}, {vector})"),
    ("vector", "tape.fori_loop(-1, 2, lambda i, s: s * {vector:1}[i % {vector:1}.size], {vector})"),
    ("vector", "tape.fori_loop(0, {count} % 4, lambda i, s: s + {vector}, {vector})"),
    ("any", "tape.map(lambda e: e * {number} + np.sum({vector}), {vector})"),
    ("vector", "tape.map(lambda row: np.sum(row * {vector}), {matrix})"),
    ("matrix", "tape.map(lambda row: np.sort(row) * {c}, {matrix})"),
    ("any", "tape.map(lambda e: e * 2, {masked})"),
    ("any", "tape.map(lambda row: tape.map(lambda e: row * e + {number}, row), {matrix})"),
    (
        "vector",
        "tape.map(lambda row: tape.fori_loop(0, 3, lambda i, s: s * {c} + row[0] * i, 0.5), {matrix})",
    ),
    ("matrix", "tape.scan(lambda s, e: (s @ {matrix}, s * e), {matrix}, {vector})[0]"),
    ("matrix", "tape.fori_loop(0, 20, lambda i, s: np.cos({matrix} - 0.1 * s @ {matrix:1}), {matrix:1})"),
    (
        "matrix",
        "tape.grad(lambda m: np.sum(tape.fori_loop(0, 17, lambda i, s: np.tanh(0.1 * s @ m.T + s @ {matrix}"
        " + {c} * i), {matrix} * 0.5)))({matrix} * 0.1)",
    ),
    ("number", "tape.cond({test}, lambda u: u * {c}, lambda u: u - {number}, {number})"),
    ("vector", "tape.cond({test}, np.sin, lambda u: u * {vector}, {vector})"),
    ("vector", "tape.switch({int}, [np.sin, np.cos, lambda u: u * {vector}], {vector})"),
    (
        "number",
        "tape.while_loop(lambda s: s[0] < 4 and s[1] > {c}, lambda s: (s[0] + 1, s[1] / 2),"
        " (0, {number}))[1]",
    ),
    (
        "number",
        "tape.while_loop(lambda s: (s[0] < 4) & (s[1] > {c}), lambda s: (s[0] + 1, s[1] / 2),"
        " (0, {number} * 1.0))[1]",
    ),
    (
        "vector",
        "tape.while_loop(lambda s: (np.sum(s[0] * s[0]) > {c}) & (s[1] < 9),"
        " lambda s: (s[0] * 0.5 + {vector} * 0.01, s[1] + 1), ({vector} * 1.0, 0))[0]",
    ),
    (
        "number",
        "tape.grad(lambda v: tape.while_loop(lambda s: s[1] < {count} % 5,"
        " lambda s: (s[0] * v + {number}, s[1] + 1), (v * 1.0, 0))[0])({number})",
    ),
    (
        "vector",
        "tape.map(lambda e: tape.while_loop(lambda s: (np.abs(s[0]) > 1) & (s[1] < 9),"
        " lambda s: (s[0] * 0.6 + {number} * 0.01, s[1] + 1), (e * 1.0, 0))[0], {vector})",
    ),
    ("number", "tape.scan(lambda s, e: (s + e if e > {c} else s * 0.5, None), {number} * 1.0, {vector})[0]"),
    ("any", "tape.scan(lambda s, e: (s, e if {test} else -e), {number}, {vector})"),
    ("vector", "tape.scan(lambda s, e: (tape.cond({test}, np.sin, np.cos, s), None), {vector}, {matrix})[0]"),
    ("vector", "tape.scan(lambda s, e: (s + tape.grad(lambda v: {loss})(e), None), {vector}, {matrix})[0]"),
    (
        "vector",
        "tape.grad(lambda v: np.sum(tape.scan(lambda s, e: (s * v + e, None), v, {matrix})[0]))({vector})",
    ),
    (
        "matrix",
        "tape.jacobian(lambda v: tape.fori_loop(0, 3, lambda i, s: np.sin(s) * v + i, {vector}))({vector})",
    ),
    ("any", "tape.jvp(lambda v: tape.scan(lambda s, e: (s * e, s), v, {matrix}), ({vector},), ({vector},))"),
    ("vector", "tape.grad(lambda v: np.sum(tape.map(lambda e: e ** 3 * {number}, v)) * v[0])({vector})"),
    ("vector", "tape.scan(lambda s, e: (s * {kept_vector} + e, None), {vector}, {matrix})[0]"),
    ("matrix", "tape.map(lambda row: {kept_matrix} @ row, {matrix})"),
    (
        "vector",
        "def step(i, s):\n    s[i % s.size] = {number}\n    return s\n"
        "{new} = tape.fori_loop(0, 3, step, {vector})",
    ),
    (
        "vector",
        "def step(s, e):\n    e[0] += {c}\n    return s + e, e\n"
        "{new} = tape.scan(step, {vector}, {matrix})[0]",
    ),
    ("any", "tape.fori_loop(0, 700, lambda i, s: np.tanh(s) * (0.9 + 0.1j) + {c} * 1e-3, {number} + 0.1j)"),
    (
        "any",
        "tape.fori_loop(0, 700, lambda i, s: (s[0] * 0.9 + {c}, np.tanh(s[1]) * (0.9 + 0.1j), s[2] + 1),"
        " ({number} * 1.0, {number} * 1j, {int}))",
    ),
    (
        "any",
        "{new} = {number} * (1.0 + 0.1j)\nfor _ in range(1400):\n"
        "    {new} = np.tanh({new}) * (0.9 + 0.04j) + {number} * 1e-3",
    ),
    (
        "any",
        "def step(u):\n    u = u * 1.0\n    part = u[1:]\n    part += {c}\n    return u\n"
        "{new} = tape.vmap(tape.vmap(step))(np.stack([{matrix}, {matrix} + 1]))",
    ),
    ("any", "tape.vmap(lambda e: e * {number} + np.sum({vector}))({vector})"),
    ("matrix", "tape.vmap(lambda row: np.sort(row) * {c})({matrix})"),
    ("matrix", "tape.vmap(lambda row: {matrix} @ row, 1, 1)({matrix})"),
    ("matrix", "tape.vmap(tape.vmap(lambda a, b: a * b + {c}, (None, 0)), (0, None))({vector}, {vector})"),
    ("matrix", "tape.vmap(tape.grad(lambda v: {loss}))({matrix})"),
    ("vector", "tape.grad(lambda v: np.sum(tape.vmap(lambda row: np.sin(row @ v))({matrix})))({vector})"),
    ("vector", "tape.vmap(lambda row, k: tape.ops.getitem(row, k % row.size))({matrix}, {ivector})"),
    ("vector", "tape.vmap(lambda e: tape.cond(e > {c}, np.sin, lambda u: u * {number}, e))({vector} * 1.0)"),
    (
        "vector",
        "tape.vmap(lambda e: tape.while_loop(lambda s: (np.abs(s[0]) > 1) & (s[1] < 9),"
        " lambda s: (s[0] * 0.6 + {number} * 0.01, s[1] + 1), (e * 1.0, 0))[0])({vector})",
    ),
]
