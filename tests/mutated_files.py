"""Files of programs, changed at random: each is refused, or it computes, or an error of tape's says why not.

By NumPy they compute the same, and stop at the same instruction.

``python -m tests.mutated_files 100000`` tries so many, in processes of their own whose memory is limited: one
that crashes is seen, and named by its seed.
"""

import argparse
import io
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np
import pytest
import scipy.sparse

import tape
from tape import errors
from tape.program.ir.check import check
from tape.program.runtime import workspace
from tape.program.runtime.run import Flip, Rerun
from tape.program.runtime.workspace import memory_of

NASTY = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**40, 2**63, -(2**63), 2**64, 10**30, 0.5, float("nan"),
    float("inf"), "", "add", "sum", "guard", "callback", "literal", "constant", "input", "matmul_add", "<f8",
    "<f4", "|O", ">f8", "loop", "part", [], {}, [[]], [1], [0, 0], "ff" * 8,
)  # fmt: skip
_BATCH = 5000
_SECONDS = 3600  # for a batch
_BYTES = 8 << 30  # of addresses: machine code and libraries take about two


# ---- programs to begin with ----------------------------------------------------------------------------


def _some_of_everything(p, i, n, s):
    x = np.concatenate([np.tanh(p["x"] @ _TABLE), p["x"].T], axis=1) if s > 0 else p["x"]
    value, grad = tape.value_and_grad(lambda x: np.sum(x[:, i].max(axis=0)) * s / n)(x)
    return {"value": value, "grad": grad, "half": s / 2}, _TABLE, 3, "text", np.where(x > s, x, i[0])


def _network(params, x, labels):
    def loss(params):
        hidden = tape.nn.relu(x @ params["w"] + params["b"])
        return tape.nn.cross_entropy(hidden, labels)

    value, grad = tape.value_and_grad(loss)(params)
    return {name: params[name] - 0.1 * grad[name] for name in params}, value


def _convolution(x, w):
    out = tape.nn.max_pool2d(tape.nn.conv2d(x, w), 2)
    return tape.grad(lambda w: np.sum(tape.nn.conv2d(x, w) ** 2))(w), out


def _matrices(a, b):
    solved = np.linalg.solve(a, b)
    return solved, np.linalg.cholesky(a @ a.T + np.eye(3)), np.einsum("ij,kj->ik", a, a)


def _factored(a):
    def loss(a):
        values, vectors = np.linalg.eigh(a)
        return np.sum(values * vectors[0]) + np.linalg.slogdet(a)[1]

    q, r = np.linalg.qr(a[:, 1:])
    return tape.grad(loss)(a), q, r, np.linalg.svd(a), np.linalg.det(a), tape.ops.linalg.expm(a)


def _transformed(z, h, n):
    """Of complex numbers, halves and bytes."""
    spectrum = np.fft.fft(z, 6) * np.exp(1j * z[:, :1])
    loss = tape.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2))(z.real)
    return spectrum, loss, z @ z.T, np.sum(z, 0), np.frexp(h), h[n] * h, np.max(n), z.astype(np.complex64)


def _scattered(x, i):
    grad = tape.grad(lambda x: np.sum(np.cumsum(x[i]) * np.max(x)))(x)
    return grad, np.take(x, i), x.astype(np.float32), int(i[0]) * x


def _ended_by_data(w, x):
    """A loop that a flag ends, and one that a count ends, in a loop."""

    def loss(w):
        def shrunk(row):
            return tape.while_loop(lambda c: np.sum(c * c) > 0.1, lambda c: 0.7 * np.sin(c) + 0.01 * w, row)

        return np.sum(tape.map(shrunk, x) * x)

    return tape.value_and_grad(loss)(w)


def _looped(w, x):
    def loss(w, x):
        c, (ys, zs) = tape.scan(lambda c, x: (np.tanh(w * c + x @ _TABLE[:, :3]), (c * c, x[0])), w, x)
        return np.sum(c) + np.sum(ys[1:]) + np.max(zs)

    return tape.value_and_grad(loss, argnums=(0, 1))(w, x)


def _nested(x, w):
    def outer(c, row):
        def inner(i, d):
            rows = d + c * np.arange(3.0)
            rows[i] = row[i] * w[i - 1]
            return rows

        return tape.fori_loop(0, 3, inner, c), np.cumsum(row)

    return tape.scan(outer, w, x, reverse=True), tape.map(lambda row: row.astype(np.float32) > 0, x)


def _ordered(x, i):
    """Everything that sorts, searches and counts."""
    grad = tape.grad(lambda x: np.sum(np.sort(x)[:2] ** 2) + np.median(x) + np.quantile(x, 0.3))(x)
    found = np.searchsorted(np.sort(x), x), np.argsort(x, kind="stable"), np.lexsort((x, i))
    return grad, found, np.interp(x, np.arange(3.0), x[:3]), np.convolve(x, x[:3]), np.histogram(x, 3)[0]


def _drawing(x, rngs):
    """Of two generators among the arguments and one that is closed over, in a loop too."""

    def step(c, _):
        return c * rngs["a"].normal(c, 1.0) + _CLOSED.random(dtype=np.float32), rngs["b"].integers(5, size=2)

    c, ks = tape.scan(step, x, length=3)
    return c, ks, rngs["a"].permutation(4), _CLOSED.choice(5, 2, replace=False), rngs["b"].uniform(x, 9.0)


def _sparse(data, x):
    """Products with a matrix whose pattern is closed over, and their derivatives."""

    def loss(data, x):
        a = tape.scipy.sparse.with_data(_PATTERN, data)
        return np.sum(np.tanh(a @ x)) + np.sum((a.T @ (a @ x)) ** 2)

    return tape.value_and_grad(loss, argnums=(0, 1))(data, x)


_PATTERN = scipy.sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.5, -1.0, 0.0], [0.0, 3.0, 4.0]])
_CLOSED = tape.random.default_rng(0)
_TABLE = np.arange(12.0).reshape(3, 4)
_RNG = np.random.default_rng(0)
CASES = [
    (_some_of_everything, ({"x": np.arange(9.0).reshape(3, 3) / 9}, np.array([0, 1]), 2, 1.5), ()),
    (
        _network,
        ({"w": np.ones((3, 4)), "b": np.ones(4)}, _RNG.normal(size=(5, 3)), np.array([0, 1, 2, 3, 0])),
        (0,),
    ),
    (_convolution, (_RNG.normal(size=(1, 2, 6, 6)), _RNG.normal(size=(3, 2, 3, 3))), ()),
    (_matrices, (_RNG.normal(size=(3, 3)), np.ones((3, 2))), (0, 1)),
    (_factored, (np.diag([3.0, 6.0, 9.0]) + _RNG.normal(size=(3, 3)),), ()),
    (
        _transformed,
        (_RNG.normal(size=(3, 5)) + 1j, np.arange(3, dtype=np.float16), np.array([2, 0, 1], np.uint8)),
        (),
    ),
    (_scattered, (_RNG.normal(size=5), np.array([1, 3, 1])), (0,)),
    (_ordered, (_RNG.normal(size=5), np.array([1, 3, 1, 0, 2])), ()),
    (_looped, (_RNG.normal(size=3), _RNG.normal(size=(4, 3))), (0,)),
    (_ended_by_data, (_RNG.normal(size=3), _RNG.normal(size=(4, 3))), (0,)),
    (_nested, (_RNG.normal(size=(4, 3)), _RNG.normal(size=3)), ()),
    (
        _drawing,
        (
            _RNG.normal(size=3),
            {"a": tape.random.default_rng(1), "b": tape.random.Generator(np.random.MT19937(2))},
        ),
        (),
    ),
    (_sparse, (_RNG.normal(size=6), _RNG.normal(size=(3, 2))), ()),
]


def example_files():
    """The content of a file for each case."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "example.tape")
        for f, args, donate in CASES:
            compiled = tape.compile(f, donate=donate)
            compiled(*args)
            (program,) = compiled.programs.values()
            program.save(path)
            yield path.read_bytes()


# ---- changes -------------------------------------------------------------------------------------------


def parts_of(data):
    """The parts of a file by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts, compression=zipfile.ZIP_STORED):
    """The file of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def places_in(value, place=()):
    """Every place in a JSON value."""
    yield place
    children = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, child in children:
        yield from places_in(child, (*place, key))


def replaced(value, place, new):
    """Put something in a place."""
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = new


def at_place(value, place):
    """What is in a place."""
    for key in place:
        value = value[key]
    return value


def with_damaged_bytes(rng, data):
    """A file with bits turned over, and bytes cut out or put in."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data))
        choice = rng.randrange(4)
        if choice == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif choice == 1:
            del data[at : at + rng.randrange(1, 40)]
        elif choice == 2:
            data[at:at] = rng.randbytes(rng.randrange(1, 40))
        else:
            del data[at:]
        if not data:
            break
    return bytes(data)


def with_changed_fields(rng, data):
    """A file whose description says something else in one place or two."""
    parts = parts_of(data)
    description, changed = json.loads(parts["program.json"]), json.loads(parts["program.json"])
    places = [place for place in places_in(description) if place]
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.choice(places)
        new = rng.choice(NASTY) if rng.random() < 0.5 else at_place(description, rng.choice(places))
        old = at_place(description, place)
        if type(old) is int and rng.random() < 0.5:
            new = old + rng.choice((-1, 1, -2, 8))
        elif type(old) is list and old and rng.random() < 0.5:
            new = rng.choice((old[:-1], old[1:], old + old[-1:], old[::-1], rng.sample(old, len(old))))
        try:
            replaced(changed, place, json.loads(json.dumps(new)))
        except (KeyError, IndexError, TypeError):
            continue  # the first change took the place away
    return zipped({**parts, "program.json": json.dumps(changed)})


def with_other_instructions(rng, data):
    """A file whose instructions read other values, or have changed places."""
    parts = parts_of(data)
    description = json.loads(parts["program.json"])
    lists = list(_lists_of(description["instructions"]))
    for _ in range(rng.choice((1, 1, 2, 4))):
        instructions = rng.choice(lists)
        one, other = rng.choice(instructions), rng.choice(instructions)
        choice = rng.randrange(4)
        if choice == 0 and one[1]:
            one[1][rng.randrange(len(one[1]))] = rng.randrange(-1, len(instructions) + 1)
        elif choice == 1:
            k = rng.randrange(5)
            one[k] = json.loads(json.dumps(other[k]))
        elif choice == 2:
            one[:], other[:] = list(other), list(one)
        else:
            instructions.insert(rng.randrange(len(instructions) + 1), json.loads(json.dumps(one)))
    return zipped({**parts, "program.json": json.dumps(description)})


def _lists_of(instructions):
    """A list of instructions, and those of the loops in it."""
    yield instructions
    for op, _, attrs, _, _ in instructions:
        if op == "loop":
            yield from _lists_of(attrs[-3])


def with_other_arrays(rng, data):
    """A file with other numbers in its arrays, or arrays of another kind."""
    parts = parts_of(data)
    names = [name for name in parts if name.endswith(".npy")]
    if not names:
        return with_changed_fields(rng, data)
    name = rng.choice(names)
    if rng.random() < 0.5:
        content = bytearray(parts[name])
        content[rng.randrange(len(content) // 2, len(content))] = rng.randrange(256)
        return zipped({**parts, name: bytes(content)})
    return zipped({**parts, name: parts[rng.choice(names)]})


CHANGES = [with_damaged_bytes, with_changed_fields, with_other_instructions, with_other_arrays]


# ---- what may come of it -------------------------------------------------------------------------------


def check_harmless(path, data):
    """Whether a file is accepted; what is accepted runs to a result or an error of tape's, both ways."""
    path.write_bytes(data)
    try:
        program = tape.load(path)
    except errors.ProgramFileError:
        return False
    check(program.ir)
    str(program), str(program.explain())
    if program.explain().value_bytes < 1 << 20 and all(np.prod(x.shape) < 1 << 17 for x in program.leaves):
        for number in (0, 1):
            leaves = [_leaf(leaf, number) for leaf in program.leaves]
            try:
                with np.errstate(all="ignore"):
                    program.profile(*leaves, repeats=1)
            except errors.TapeError:
                pass
            if program.generators is None:
                by_numpy = outcome(program.run_on_numpy, leaves)
                try:
                    assert_same(outcome(program.run, leaves), by_numpy)
                except AssertionError:
                    if not reads_unwritten(path, leaves):
                        raise
    return True


def reads_unwritten(path, leaves):
    """Whether a result depends on memory that nothing has written: in a loop, on steps that it left out.

    Then it is another one where all memory holds something else at first.
    """
    outcomes = []
    for byte in (0, 1, 127):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(workspace, "memory_of", lambda size, byte=byte: filled(memory_of(size), byte))
            outcomes.append(outcome(tape.load(path).run, leaves))
    try:
        for other in outcomes[1:]:
            assert_same(outcomes[0], other)
    except AssertionError:
        return True
    return False


def filled(memory, byte):
    """The memory, with this in each byte."""
    memory[...] = byte
    return memory


def outcome(run, leaves):
    """The leaves of the result; or where it stops, or which branch is another one."""
    try:
        out = run(tuple([leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]))
    except Rerun as stopped:
        return "stopped", str(stopped)
    return ("branch", out.index, out.outcome) if isinstance(out, Flip) else out


def assert_same(one, other):
    """Check that two outcomes are the same but for rounding."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        assert one == other
        return
    for x, y in zip(one, other, strict=True):
        assert type(x) is type(y)
        if isinstance(x, np.ndarray | np.generic):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)  # single precision, and sums that cancel
        else:
            assert x == y or x != x


def _leaf(leaf, number):
    if leaf.is_array:
        return np.full(leaf.shape, number, leaf.dtype)
    return leaf.kind(number)


def _try(begin, end):
    """Try the mutants of these seeds, saying which one is next."""
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    examples = list(example_files())
    accepted = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "mutant.tape")
        for seed in range(begin, end):
            print(seed, flush=True)
            rng = random.Random(seed)
            accepted += check_harmless(path, rng.choice(CHANGES)(rng, rng.choice(examples)))
    print("accepted", accepted, flush=True)


def campaign(count, first=0):
    """Try mutants in processes of their own: how many were accepted, and what went wrong by seed."""
    accepted, wrong = 0, {}
    begin, last = first, first + count
    while begin < last:
        end = min(begin + _BATCH, last)
        command = [sys.executable, "-m", "tests.mutated_files", "--from", str(begin), "--to", str(end)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        if not done.stdout:
            raise RuntimeError(done.stderr)
        answer = done.stdout.split("\n")[-2]
        if answer.startswith("accepted"):
            accepted += int(answer.split()[1])
            begin = end
        else:
            wrong[int(answer)] = f"status {done.returncode}: {done.stderr[-2000:]}"
            begin = int(answer) + 1
    return accepted, wrong


def _main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("count", type=int, nargs="?", default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--from", dest="begin", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--to", dest="end", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.begin is not None:
        _try(options.begin, options.end)
        return
    start = time.perf_counter()
    accepted, wrong = campaign(options.count, options.first)
    for seed, what in wrong.items():
        print(f"seed {seed}: {what}")
    print(
        f"{options.count} files: {options.count - accepted - len(wrong)} refused, {accepted} accepted, "
        f"{len(wrong)} wrong, in {time.perf_counter() - start:.0f} s"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    _main()
