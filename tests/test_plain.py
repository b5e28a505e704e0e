"""Programs by plain NumPy do what the machine does, and refuse what it refuses."""

import pickle

import numpy as np
import pytest

import tape
from tape.core.op import Op
from tape.ops.products.sparse import sampled_product, sparse_product
from tape.program.runtime.run import Rerun
from tests import mutated_files

ROOM = np.zeros(4)
EYE = np.eye(3)
STACK = np.random.default_rng(0).normal(size=(40, 3, 3)) + 3 * EYE
DEFINITE = STACK @ STACK.swapaxes(1, 2)
KEPT = Op(lambda x: x[x > 1] * 2, name="kept")
DATA, MATRIX = np.array([2.0, 3.0, 5.0, 7.0]), np.arange(8.0).reshape(4, 2) + 1
SINGULAR, LARGE = np.ones((3, 3)), np.ones((40, 40))


def written(x, i):
    out = 1.0 * x
    out[i] = x[0]
    return out


def halved(x):
    n = 0
    while np.sum(x) > 1.0:
        x, n = x / 2, n + 1
    return x, n


def collatz(x):
    return tape.while_loop(
        lambda c: c[0] > 1.5, lambda c: (np.where(c[0] % 2 > 0.5, 3 * c[0] + 1, c[0] / 2), c[1] + 1), (x, 0.0)
    )


def prefix(x, n):
    return tape.fori_loop(0, n, lambda i, c: c * 0.5 + x[i], x[0])


ON_NUMBERS = {
    "branch": (lambda x: x if np.sum(x) > 0 else -x, [(np.ones(3),)], [(-np.ones(3),)]),
    "steps": (halved, [(np.ones(3),)], [(np.ones(3) / 9,), (8 * np.ones(3),)]),
    "count of a mask": (
        lambda x: np.cumsum(x[x > 0]), [(np.arange(-2.0, 2.0),)], [(np.arange(-1.0, 3.0),), (ROOM,)]
    ),
    "unique": (np.unique, [(np.array([3.0, 1.0, 3.0]),)], [(np.array([1.0, 2.0, 3.0]),)]),
    "counting": (lambda i: np.bincount(i, minlength=4)[:4], [(np.arange(3),)], [(np.array([-1, 0, 1]),)]),
    "weighing": (
        lambda i, x: np.bincount(i, x, 4)[:4], [(np.arange(4), ROOM + 2)], [(np.arange(4) - 1, ROOM)]
    ),
    "bins": (
        lambda x, b: np.digitize(x, b), [(ROOM, np.arange(3.0)), (ROOM, -np.arange(3.0))],
        [(ROOM, np.array([0.0, 2.0, 1.0]))],
    ),
    "gathering": (
        lambda x, i: x[i], [(np.arange(4.0), np.array([0, -4, 3]))], [(ROOM, np.array([0, -5, 4]))]
    ),
    "gathering by two": (
        lambda x, i, j: x[i, j], [(EYE, np.arange(3), -np.arange(3))], [(EYE, np.arange(3), np.arange(1, 4))]
    ),
    "writing": (written, [(np.arange(4.0), np.array([1, -1]))], [(ROOM, np.array([1, 4]))]),
    "small inverse": (np.linalg.inv, [(EYE + 1,)], [(SINGULAR,)]),
    "large inverse": (np.linalg.inv, [(np.eye(40) + 1,)], [(LARGE,)]),
    "small solution": (np.linalg.solve, [(EYE + 1, np.ones(3))], [(SINGULAR, np.ones(3))]),
    "large solution": (np.linalg.solve, [(np.eye(40) + 1, np.ones(40))], [(LARGE, np.ones(40))]),
    "small Cholesky": (np.linalg.cholesky, [(EYE + 1,)], [(-SINGULAR,)]),
    "stack of small Cholesky factors": (np.linalg.cholesky, [(DEFINITE,)], [(DEFINITE - 9 * EYE,)]),
    "stack of small upper factors": (lambda a: np.linalg.cholesky(a, upper=True), [(DEFINITE,)], []),
    "stack of small inverses": (np.linalg.inv, [(STACK,)], [(STACK * 0,)]),
    "stack of small determinants": (np.linalg.det, [(STACK,)], []),
    "stack of small solutions": (
        lambda a: np.linalg.solve(a, a[..., :2]), [(STACK,)], [(STACK * 0,)]
    ),
    "large Cholesky": (np.linalg.cholesky, [(np.eye(40) + 1,)], [(-LARGE,)]),
    "eigenvalues": (np.linalg.eigvalsh, [(EYE + 1,)], []),
    "singular values": (lambda a: np.linalg.svd(a)[1], [(EYE + 1,)], [(EYE * np.nan,)]),
    "order": (lambda x: np.sort(x)[::-1] * np.argsort(x), [(np.array([3.0, np.nan, 1.0]),)], []),
    "quantile": (
        lambda x, q: np.quantile(x, q), [(np.arange(9.0), np.array(0.3))], [(np.arange(9.0), np.array(1.5))]
    ),
    "values at a mask": (
        lambda x, m, v: tape.ops.set_at(x, v, m), [(ROOM, ROOM < [1, 0, 1, 0], np.array([3.0, 4.0]))],
        [(ROOM, ROOM < [1, 0, 0, 0], ROOM[:2]), (ROOM, ROOM < 1, ROOM[:2])]
    ),
    "operation whose result has any length": (
        KEPT, [(np.arange(4.0),), (3 - np.arange(4.0),)], [(np.arange(4.0) + 1,), (-np.arange(4.0),)]
    ),
    "mask beside an index": (
        lambda x, m, i: x[m, i], [(STACK[0], np.array([True, False, True]), np.array([1]))],
        [(EYE, np.array([True, True, True]), np.array([1]))]
    ),
    "sparse product": (
        lambda *args: sparse_product(*args, shape=(3, 4), turned=False), [
            (DATA, np.array([0, 3, 1, 1]), np.array([0, 2, 2, 4]), MATRIX),
            (DATA, np.array([0, 0, 0, 0]), np.array([0, 0, 0, 4]), MATRIX),
            (DATA, np.array([0, 3, 1, 1]), np.array([0, 1, 1, 2]), MATRIX),
        ],
        [
            (DATA, np.array([0, 4, 1, 1]), np.array([0, 2, 2, 4]), MATRIX),
            (DATA, np.array([0, -1, 1, 1]), np.array([0, 2, 2, 4]), MATRIX),
            (DATA, np.array([0, 3, 1, 1]), np.array([1, 2, 2, 4]), MATRIX),
            (DATA, np.array([0, 3, 1, 1]), np.array([0, -1, 2, 4]), MATRIX),
            (DATA, np.array([0, 3, 1, 1]), np.array([0, 2, 2, 5]), MATRIX),
        ]
    ),
    "turned sparse product": (
        lambda *args: sparse_product(*args, shape=(4, 3), turned=True), [
            (DATA, np.array([0, 2, 1, 1]), np.array([0, 2, 2, 3, 4]), MATRIX),
            (DATA, np.array([0, 2, 1, 1]), np.array([0, 2, 2, 3, 3]), MATRIX),
        ],
        [(DATA, np.array([0, 3, 1, 1]), np.array([0, 2, 2, 3, 4]), MATRIX)]
    ),
    "sampled product": (
        sampled_product, [
            (np.array([0, 3, 1, 1]), np.array([0, 2, 2, 4]), MATRIX[1:], 2 * MATRIX),
            (np.array([0, 0, 0, 0]), np.array([0, 4, 4, 4]), MATRIX[1:], 2 * MATRIX),
        ],
        [
            (np.array([0, 3, 1, 1]), np.array([0, 1, 2, 3]), MATRIX[1:], MATRIX),
            (np.array([0, 3, 1, 1]), np.array([0, 3, 2, 4]), MATRIX[1:], MATRIX),
            (np.array([0, 5, 1, 1]), np.array([0, 2, 2, 4]), MATRIX[1:], MATRIX),
        ]
    ),
    "while": (collatz, [(6.0,), (7.0,), (1.0,)], []),
    "gradient of while": (tape.grad(lambda x: collatz(x)[0]), [(6.0,), (7.0,), (1.0,)], []),
    "for": (prefix, [(np.arange(5.0), np.array(3))], [(np.arange(5.0), np.array(n)) for n in (0, 5)]),
}  # fmt: skip


@pytest.mark.parametrize("name", ON_NUMBERS)
def test_results_and_refusals_are_those_of_the_machine(name):
    f, good, bad = ON_NUMBERS[name]
    compiled = tape.compile(f)
    compiled(*good[0])
    (program,) = compiled.programs.values()
    is_refused = []
    for args in (*good, *bad):
        leaves = program.calling.leaves_of(args, {}, program.leaves, name)
        by_machine, by_numpy = (
            mutated_files.outcome(run, leaves) for run in (program.run, program.run_on_numpy)
        )
        mutated_files.assert_same(by_machine, by_numpy)
        is_refused.append(isinstance(by_machine, tuple))
    assert is_refused == [False] * len(good) + [True] * len(bad)


@pytest.mark.parametrize("other", [lambda x: x > 1, lambda x: x[1:], lambda x: x.astype(np.float32)])
def test_results_of_another_type_than_an_operation_has_said_stop_a_program(other):
    typed = Op(lambda x: x * 2 if x[0] > 0 else other(x), name="typed", data_dependent=False)
    compiled = tape.compile(lambda x: typed(x) + 1)
    for x in (ROOM + 1, ROOM, ROOM - 1):
        expected = typed(x) + 1
        np.testing.assert_array_equal(compiled(x), expected, strict=True)
    (program,) = compiled.programs.values()
    for run in (program.run, program.run_on_numpy):
        assert mutated_files.outcome(run, (ROOM,))[0] == "stopped"
        with pytest.raises(Rerun, match="typed"):
            run((ROOM,))
    with pytest.raises(tape.errors.TapeError, match="typed does not take these numbers"):
        program(ROOM)


def test_results_share_no_memory_and_donated_arrays_may_be_kept():
    compiled = tape.compile(lambda x: (x, x + 1, x.T), donate=(0,))
    compiled(np.eye(2))
    (program,) = compiled.programs.values()
    x = np.eye(2)
    out = program.run_on_numpy((x,))
    assert not any(np.shares_memory(one, other) for one in out for other in (x, *out) if one is not other)
    locked = np.eye(2)
    locked.flags.writeable = False
    with pytest.raises(tape.errors.InPlaceError):
        program.run_on_numpy((locked,))


def test_copies_run_alike():
    compiled = tape.compile(tape.grad(lambda w, x: np.sum(np.tanh(x @ w) ** 2)))
    args = np.linspace(-1.0, 1.0, 6).reshape(3, 2), np.linspace(0.0, 2.0, 12).reshape(4, 3)
    expected = compiled(*args)
    (program,) = compiled.programs.values()
    (found,) = pickle.loads(pickle.dumps(program)).run_on_numpy(args)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
