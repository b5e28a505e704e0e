"""Programs as text, their reports and profiles: complete, and in agreement with each other."""

import itertools
import re
from functools import cache

import numpy as np
import pytest
from scipy import special

import tape
from tape import errors, ops
from tape.kernels import matrices
from tape.program.ir.table import INSTRUCTIONS, VIEWS
from tape.program.program import Program
from tape.program.record.recording import record
from tape.program.report.profile import Profile, Timing
from tests.compiled import called_back
from tests.op_table import TWO_OF_EACH, one_of_each
from tests.oracles import gradient_of_sines
from tests.tiers import takes_long

SOURCES = ("input", "constant", "literal")


def program_of(f, *args, **options):
    return Program(record(f, args, {}, "f"), **options)


def gradient(case):
    """What a case computes, or its gradient if it has one."""
    f = case.on(tape.ops)
    return gradient_of_sines(f, case.args()) if case.has_derivative else f


def mlp(p, x, t):
    return tape.value_and_grad(lambda p: np.mean((np.tanh(x @ p["a"] + p["b"]) @ p["c"] - t) ** 2))(p)


def mlp_arguments(batch=256):
    rng = np.random.default_rng(0)
    p = {"a": rng.normal(size=(16, 64)), "b": np.zeros(64), "c": rng.normal(size=(64, 4))}
    return p, rng.normal(size=(batch, 16)), rng.normal(size=(batch, 4))


def only(compiled):
    (program,) = compiled.programs.values()
    return program


@cache
def gradient_program(case):
    return program_of(gradient(case), *case.args())


# ---- the list of instructions ------------------------------------------------------------------------


@takes_long
def test_every_instruction_has_a_line():
    ops = set()
    for case in one_of_each(TWO_OF_EACH):
        program = gradient_program(case)
        lines = str(program).splitlines()
        assert lines[0] == repr(program)
        assert lines[-1].startswith("returns ")
        lines = [line for line in lines if re.match(r" *%\d+ ", line)]  # not those of bodies of loops
        shown = [int(line.split()[0][1:]) for line in lines]
        instructions = program.plan.instructions
        hidden = {*SOURCES, "guard"}
        assert sorted(shown) == [id for id, i in enumerate(instructions) if i.op not in hidden]
        for id, line in zip(shown, lines, strict=True):
            instruction = instructions[id]
            named = instruction.op in ("fold", "kernel", "pair")  # a pair is one operation of another
            name = instruction.attrs[0] if named else instruction.op
            assert f"{name.removeprefix('vector_')}(" in line or (name == "callback" and "callback " in line)
            assert f"{instruction.dtype}{list(instruction.shape)}" in line
        ops |= {instruction.op for instruction in instructions}
    systems = {"solve", "triangular_solve", "cholesky"}
    others = {"matmul", "take", "add_at", "concatenate", "callback", "where", "fold", "scan"}
    assert ops >= systems | others | VIEWS - {"again", "part"}  # of checkpoints and loops


@pytest.mark.parametrize(("f", "shown"), [
    (lambda x, y: x * 2.0 + y, "add(multiply({x}, 2.0), {y})"),
    (lambda x, y: y - x * y, "subtract({y}, multiply({x}, {y}))"),
])  # fmt: skip
def test_pairs_are_shown_as_one_operation_of_another(f, shown):
    x = np.ones(300)
    program = tape.compile(f)
    program(x, x + 1)
    (made,) = program.programs.values()
    assert shown.format(x="in0", y="in1") in str(made)


def test_operands_come_before_their_use():
    for case in one_of_each(TWO_OF_EACH):
        known = set()
        for line in str(gradient_program(case)).splitlines()[1:]:
            name, *rest = re.findall(r"%\d+", line) or [None]
            if name is not None and not line.startswith("returns"):
                assert set(rest) <= known, line
                known.add(name)


def test_guards_callbacks_groups_constants_and_results():
    array = np.ones((100, 100))

    def f(x, y):
        if np.sum(x) > 0:
            return {"a": np.exp(x) * np.sin(x) + array, "b": called_back(y), "c": "text", "d": array}
        return x

    program = program_of(f, np.ones((100, 100)), 0.5)
    text = str(program)
    assert re.search(r"^ +guard\(%\d+; bool is True\)$", text, re.M)
    assert re.search(r"^%\d+ +callback called_back\(in1\) +float64\[\] +out1$", text, re.M)
    assert re.search(r"^ +in blocks of \d+:$", text, re.M)
    assert re.search(r"^  %\d+ +exp\(in0\) +float64\[100, 100\] +registers\+0$", text, re.M)
    assert re.search(r"^c0 +constant +float64\[100, 100\]$", text, re.M)
    assert re.search(r"^returns %\d+, %\d+, text, float64\[100, 100\]$", text, re.M)


ROWS = (slice(1, 2), slice(None, None, 2))
LINES = {
    # how an instruction reads, with its attributes by name, shape and place: a function of float64[3, 4]
    "%1 slice(in0; start=(1, 0), step=(1, 2)) float64[2, 2] view of in0+32": lambda x: np.sin(x[1:, ::2]),
    "%1 slice(in0; start=(2, 3), step=(-1, 1)) float64[3, 1] view of in0+88": lambda x: np.sin(x[::-1, 3]),
    "%7 put(%1, %6; start=(1, 0), step=(1, 2)) float64[3, 4] out0": (
        lambda x: ops.set_at(np.sin(x), 2.0 * x[0, :2], ROWS)
    ),
    "%5 add_at(%1, %4; start=(1, 0), step=(1, 2)) float64[3, 4] out0": (
        lambda x: ops.add_at(np.sin(x), x[0, :2], ROWS)
    ),
    "%4 add_at(%1, %2, c0; axis=0) float64[3, 4] out0": (
        lambda x: ops.add_at(np.sin(x), x[:2], np.array([0, 2]))
    ),
    "%3 take(%1, c0; axis=1) float64[3, 2] out0": lambda x: ops.take(np.sin(x), np.array([2, 0]), 1),
    "%2 concatenate(%1, in0; axis=1) float64[3, 8] out0": lambda x: np.concatenate([np.sin(x), x], 1),
    "%2 max(%1; axes=1) float64[3] out0": lambda x: np.max(np.sin(x), 1),
    "%2 argmax(%1; axes=1) int64[3] out0": lambda x: np.argmax(np.sin(x), 1),
    "%2 scan(%1; kind=sum, axis=1, backwards=False) float64[3, 4] out0": lambda x: np.cumsum(np.sin(x), 1),
    "%2 transpose(%1; axes=(1, 0)) float64[4, 3] view of arena+0": lambda x: np.sin(x).T[:, None],
    "%2 broadcast(%1) float64[2, 3, 4] view of arena+0": lambda x: np.broadcast_to(np.sin(x), (2, 3, 4)),
    "%2 cast(%1) float32[3, 4] out0": lambda x: np.sin(x).astype(np.float32),
    "%2 matmul(in0, %1; factor=-2.0) float64[3, 3] out0": lambda x: -2 * (x @ x.T),
    "%3 matmul_add(c0, in0, %1; factor=1.0) float64[3, 3] out0": lambda x: x @ x.T + 9 * np.eye(3),
    "%4 cholesky(%3; upper=True) float64[3, 3] out0": (
        lambda x: np.linalg.cholesky(x @ x.T + 9 * np.eye(3), upper=True)
    ),
    "%4 triangular_solve(%3, %1; lower=True, transposed=True, unit_diagonal=False) float64[4, 3] arena+128": (
        lambda x: ops.linalg.solve_triangular(x @ x.T + 9 * np.eye(3), x, trans=1, lower=True)
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_instructions_read_like_this(line):
    text = str(program_of(LINES[line], np.arange(12.0).reshape(3, 4)))
    assert line in [" ".join(one.split()) for one in text.splitlines()]


def test_unused_inputs_and_donated_memory_are_named():
    f = tape.compile(lambda w, x, unused: w - 0.5 * x, donate=0)
    f(np.ones(3), np.ones(3), np.ones(2))
    text = str(only(f))
    assert re.search(r"^in2 +input, not used +float64\[2\]$", text, re.M)
    assert re.search(r"^returns %\d+ in the memory of in0$", text, re.M)


# ---- the report --------------------------------------------------------------------------------------


def test_what_became_of_the_recording_adds_up():
    for case in one_of_each(TWO_OF_EACH):
        report = gradient_program(case).explain()
        effects = dict(report.effects)
        recorded, needed, left, _ = (
            effects.pop(name) for name in ("recorded", "needed", "lowered", "compressed")
        )
        assert recorded >= needed >= 0
        assert left - sum(effects.values()) == report.instructions
        assert min(effects.values()) >= 0


X = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def test_each_simplification_is_counted():
    x = np.ones((3, 4))
    assert program_of(lambda x: np.exp(x) + np.exp(x), x).explain().effects["merged"] == 1
    assert program_of(lambda x, y: -(x @ y), x, np.ones((4, 4))).explain().effects["contracted"] == 1


def repeated(step, count):
    def f(x):
        for _ in range(count):
            x = step(x)
        return x

    return f


@pytest.mark.parametrize(
    ("effect", "step"),
    [
        ("simplified", lambda x: x * 1.0),
        ("simplified", lambda x: np.negative(-x)),
        ("merged", lambda x: np.tanh(x) + np.tanh(x)),
        ("folded", lambda x: x * np.exp(np.zeros((), like=x) + 2.0)),
        ("contracted", lambda x: -(x @ np.arange(16.0).reshape(4, 4))),
        ("contracted", lambda x: x * x @ np.eye(4) + x),
    ],
)
def test_each_simplification_is_counted_once(effect, step):
    """A step more, one more of it."""
    counted = [program_of(repeated(step, n), X).explain().effects[effect] for n in range(4)]
    once = counted[1]
    assert once >= 1
    assert counted == [0, once, 2 * once, 3 * once]


def test_numbers_agree_with_the_plan():
    f = tape.compile(mlp)
    f(*mlp_arguments())
    program = only(f)
    report = program.explain()
    instructions = program.plan.instructions
    assert report.rows == len(program)
    assert report.views == sum(i.op in VIEWS for i in instructions)
    assert report.groups == str(program).count("in blocks of")
    assert 0 < report.arena_bytes <= report.value_bytes
    assert report.arena_share == report.arena_bytes / report.value_bytes
    forward = 2 * 256 * 16 * 64 + 2 * 256 * 64 * 4
    assert forward < report.flops < 4 * forward
    assert report.bytes_moved > 256 * 64 * 8
    assert (report.callbacks, report.callback_share, report.guards) == ({}, None, 0)


@pytest.mark.parametrize(
    ("f", "shapes", "flops"),
    [
        (lambda x: np.exp(x), [(3, 4)], 12),
        (lambda x: np.sum(x), [(3, 4)], 12),
        (lambda x, y: x @ y, [(3, 4), (4, 5)], 2 * 3 * 4 * 5),
        (lambda x, y: x @ y, [(2, 3, 4), (2, 4, 5)], 2 * 2 * 3 * 4 * 5),
        (lambda x: x.T, [(3, 4)], 0),
    ],
)
def test_flops(f, shapes, flops):
    assert program_of(f, *map(np.ones, shapes)).explain().flops == flops


def rows_of(n):
    return np.ones((n, 6))


def systems(n):
    return np.ones((n, 9, 9)) + 9 * np.eye(9)


INDEX = np.array([2, 0, 1, 1, 0])
COSTS = {
    # of n rows of six, or n systems of five equations: FLOPs, and nanoseconds that are typical and at most
    "multiply": (lambda x: x * x, rows_of, lambda n: (6 * n, 0.3 * 6 * n, 2 * 6 * n)),
    "vector_exp": (lambda x: np.exp(x), rows_of, lambda n: (6 * n, 0.3 * 6 * n, 20 * 6 * n)),
    "special.gammaln": (lambda x: special.gammaln(x), rows_of, lambda n: (6 * n, 50 * 6 * n, 100 * 6 * n)),
    "transpose": (lambda x: x.T, rows_of, lambda n: (0, 0.3 * 6 * n, 2 * 6 * n)),
    "fold": (lambda x: np.max(x, axis=1), rows_of, lambda n: (6 * n, 0.3 * n, 2 * 6 * n)),
    "sum_product": (lambda x: np.sum(np.sin(x) * x), rows_of, lambda n: (12 * n, 0.3, 2 * 6 * n)),
    "scan": (lambda x: np.cumsum(x, axis=1), rows_of, lambda n: (6 * n, 0.3 * 6 * n, 20 * 6 * n)),
    "matmul": (lambda x: x @ x.T, rows_of, lambda n: (12 * n * n, 0.3 * n * n, (0.2 * 6 + 2) * n * n)),
    "take": (lambda x: ops.take(x, INDEX, 0), rows_of, lambda n: (0, 0.3 * 30, 20 * max(30, 6 * n))),
    "add_at": (
        lambda x: ops.add_at(x, x[:5], INDEX), rows_of, lambda n: (30, 0.3 * 6 * n, 20 * max(30, 6 * n))),
    "solve": (
        lambda a: np.linalg.solve(a, a[:, :, :2]), systems,
        lambda n: (2 * 81 * n * 9 // 3 + 2 * 18 * n * 9, 0.3 * 81 * n, (0.2 * 9 + 20) * 99 * n)),
    "triangular_solve": (
        lambda a: ops.linalg.solve_triangular(a, a[:, :, :3]), systems,
        lambda n: (27 * n * 9, 0.3 * 81 * n, (0.2 * 9 + 20) * 108 * n)),
    "cholesky": (
        lambda a: np.linalg.cholesky(a), systems,
        lambda n: (81 * n * 9 // 3, 0.3 * 81 * n, (0.2 * 9 + 20) * 162 * n)),
}  # fmt: skip


@pytest.mark.parametrize("op", COSTS)
def test_costs_of_instructions(op):
    f, make, expected = COSTS[op]
    for n in (8, 20, 50):
        instructions = program_of(f, make(n)).plan.instructions
        (made,) = [instruction for instruction in instructions if instruction.op == op]
        cost = INSTRUCTIONS[op].cost
        counted = [count(made, instructions) for count in (cost.flops, cost.typical, cost.longest)]
        np.testing.assert_allclose(counted, expected(n), rtol=1e-12)


TEXTBOOK = {
    # of one m by n matrix: its function, the shape, whether it is complex, and the arithmetic
    "inv": (np.linalg.inv, (9, 9), False, lambda m, n: 8 / 3 * m**3),
    "det": (np.linalg.det, (9, 9), False, lambda m, n: 2 / 3 * m**3),
    "slogdet": (np.linalg.slogdet, (9, 9), True, lambda m, n: 2 / 3 * m**3),
    "numpy_solve": (lambda a: np.linalg.solve(a, a[..., :4]), (9, 9), True,
                    lambda m, n: 2 / 3 * m**3 + 2 * m**2 * 4),
    "cholesky_lo": (np.linalg.cholesky, (9, 9), True, lambda m, n: m**3 / 3),
    "eigh_lo": (np.linalg.eigh, (9, 9), False, lambda m, n: 9 * m**3),
    "eigvalsh_up": (lambda a: np.linalg.eigvalsh(a, "U"), (9, 9), False, lambda m, n: 4 / 3 * m**3),
    "svd": (lambda a: np.linalg.svd(a, compute_uv=False), (9, 5), False,
            lambda m, n: 2 * m * n**2 + 2 * n**3),
    "svd_s": (lambda a: np.linalg.svd(a, full_matrices=False), (5, 9), False,
              lambda m, n: 6 * m**2 * n + 20 * m**3),
    "qr_reduced": (np.linalg.qr, (9, 5), False, lambda m, n: 2 * m * n**2),
    "qr_complete": (lambda a: np.linalg.qr(a, "complete"), (9, 5), False, lambda m, n: 4 * m**2 * n),
    "cholesky_up": (lambda a: np.linalg.cholesky(a, upper=True), (9, 9), True, lambda m, n: m**3 / 3),
    "eigh_up": (lambda a: np.linalg.eigh(a, "U"), (9, 9), True, lambda m, n: 9 * m**3),
    "eigvalsh_lo": (np.linalg.eigvalsh, (9, 9), True, lambda m, n: 4 / 3 * m**3),
    "svd_f": (np.linalg.svd, (5, 9), False, lambda m, n: 10 * m**2 * n + 20 * m**3),
    "qr_r_raw": (np.linalg.qr, (5, 9), False, lambda m, n: 2 * m**2 * n),
    "fft": (np.fft.fft, (1, 6), True, lambda m, n: round(5 * n * np.log2(n + 1))),
    "ifft": (lambda a: np.fft.ifft(a, 9), (1, 6), True, lambda m, n: round(5 * 9 * np.log2(10))),
    "rfft_n_even": (np.fft.rfft, (1, 6), False, lambda m, n: round(5 * 6 * np.log2(7))),
    "rfft_n_odd": (lambda a: np.fft.rfft(a, 5), (1, 6), False, lambda m, n: round(5 * 5 * np.log2(6))),
    "irfft": (lambda a: np.fft.irfft(a, 7), (1, 6), True, lambda m, n: round(5 * 7 * np.log2(8))),
}  # fmt: skip


@pytest.mark.parametrize("op", TEXTBOOK)
def test_factorisations_cost_what_the_textbook_says_for_each_matrix(op):
    """So do Fourier transforms; the time is in proportion to their number, and longer at worst."""
    f, (m, n), is_complex, arithmetic = TEXTBOOK[op]
    costs = []
    for count in (3, 12):
        stack = systems(count)[:, :m, :n] + (0j if is_complex else 0.0)
        instructions = program_of(f, stack).plan.instructions
        (made,) = [instruction for instruction in instructions if instruction.op == op]
        cost = INSTRUCTIONS[op].cost
        assert cost.flops(made, instructions) == int(count * arithmetic(m, n))
        costs.append((cost.typical(made, instructions), cost.longest(made, instructions)))
    np.testing.assert_allclose(costs[1], np.multiply(costs[0], 4))
    assert 0.1 * count * arithmetic(m, n) < costs[1][0] < costs[1][1]


def test_long_products_take_longer_for_each_element():
    """They leave the cache, as do large systems."""
    for op, f, make in (("matmul", lambda x: x @ x.T, np.ones), ("cholesky", np.linalg.cholesky, np.eye)):
        typical = []
        for n in (9, 10, 25, 40):
            instructions = program_of(f, make((7, n) if op == "matmul" else n)).plan.instructions
            (made,) = [instruction for instruction in instructions if instruction.op == op]
            typical.append(INSTRUCTIONS[op].cost.typical(made, instructions) / made.size)
        np.testing.assert_allclose(np.divide(typical, typical[0]), [1, 2, 3, 5])


def test_scans_with_factors_take_two_flops_an_element():
    def f(x):
        return tape.grad(lambda x: np.sum(np.cumprod(x, axis=1)))(x)

    instructions = program_of(f, rows_of(4) * 2).plan.instructions
    scans = [i for i in instructions if i.op == "scan"]
    assert {len(i.operands) for i in scans} == {1, 2}
    for scan in scans:
        assert INSTRUCTIONS["scan"].cost.flops(scan, instructions) == len(scan.operands) * scan.size


def test_bytes_moved_are_those_outside_registers():
    assert program_of(lambda x: np.exp(x), np.ones(10)).explain().bytes_moved == 160
    assert program_of(lambda x: np.sin(np.exp(x)), np.ones(10**5)).explain().bytes_moved == 16 * 10**5


def test_callbacks_are_named_with_a_hint():
    report = program_of(lambda x: called_back(called_back(x)), np.ones(3)).explain()
    assert report.callbacks == {"called_back": 2}
    assert re.search(r"^ +called_back 2x: runs in Python", str(report), re.M)


def test_a_report_reads_like_this(monkeypatch):
    monkeypatch.setattr(matrices, "are_worth", lambda *lengths: False)  # products by BLAS, on any machine
    table = np.arange(90_000.0).reshape(300, 300)

    def f(x, w):
        y = np.sin(np.exp(x) * 1.0) + np.exp(x)
        if np.sum(x) > 0:
            y = y + called_back(w @ table) @ table.T
        return w * 2, np.sum(y), y.T

    program = program_of(f, np.ones((300, 300)), np.ones((300, 300)), donated=frozenset({1}))
    assert str(program.explain()) == (
        "program       f\n"
        "recorded      16 nodes, 16 of them needed\n"
        "lowered       to 22 instructions, less 1 merged, 1 simplified, 1 dropped, 1 contracted\n"
        "instructions  18, 1 of them views; 2 copies inserted\n"
        "rows          15; 5 instructions in 2 groups; 1 guards\n"
        "arena         2.9 MB, 44% of all values' 6.5 MB\n"
        "registers     16.5 kB\n"
        "constants     2, 1.4 MB\n"
        "results       1 in memory of arguments\n"
        "work          108,540,001 FLOPs, 13.7 MB moved\n"
        "callbacks     1\n"
        "              called_back 1x: runs in Python. If its time matters, write it with operations that "
        "have instructions"
    )
    counted = program.explain()
    assert (counted.callbacks, counted.donated, counted.constants) == ({"called_back": 1}, 1, 2)


def test_the_report_of_a_function_joins_those_of_its_programs():
    f = tape.compile(lambda x: x * 2)
    for n in (2, 3):
        f(np.ones(n))
    text = f.explain()
    for key, program in f.programs.items():
        assert f"{key}\n{program.explain()}" in text


# ---- the profile -------------------------------------------------------------------------------------


def test_a_profile_of_no_time_has_no_shares():
    """A clock may be too coarse for short instructions."""
    timing = Timing((0,), ("%0",), ("exp(x)",), range(1), 0.0, is_callback=True)
    found = Profile("f", (timing, timing), 0.0, 0.0)
    assert str(found).count("0 ns") == 6
    assert (found.seconds, found.callback_share) == (0.0, 0.0)
    assert str(Profile("f", (), 0.0, 0.0)).startswith("f: ")


def test_every_row_is_timed_once_and_in_order():
    f = tape.compile(mlp)
    args = mlp_arguments()
    f(*args)
    expected = f(*args)
    program = only(f)
    profile = program.profile(*args, repeats=3)
    assert [row for timing in profile.timings for row in timing.rows] == list(range(len(program)))
    computed = [id for step in program.plan.steps for id in step.members]
    assert [id for timing in profile.timings for id in timing.ids] == computed
    assert profile.whole > 0
    assert profile.seconds == sum(timing.seconds for timing in profile.timings) > 0
    assert profile.callback_share == 0
    for id in computed:
        assert f"%{id} " in str(profile)
    found = program(*args)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1]["a"], expected[1]["a"])


def test_callbacks_have_their_share():
    program = program_of(lambda x: np.exp(called_back(x)), np.ones(3))
    profile = program.profile(np.ones(3), repeats=2)
    assert [timing.is_callback for timing in profile.timings] == [True, False]
    assert profile.callback_share == profile.timings[0].seconds / profile.seconds
    assert program.explain().callback_share == profile.callback_share
    assert "of it in callbacks" in str(profile)
    assert "of the time" in str(program.explain())


def test_callbacks_are_made_in_a_profile():
    """What depends on their results goes on as in a call."""
    program = program_of(lambda x: np.exp(x) if called_back(x)[0] > 0 else x, np.ones(3))
    assert len(program.profile(np.ones(3), repeats=1).timings) == len(program)
    with pytest.raises(errors.UnsupportedError, match="one path"):
        program.profile(-np.ones(3), repeats=1)


def test_the_time_of_calling_the_machine_is_left_out(monkeypatch):
    """By a clock on which each look takes a second."""
    ticks = itertools.count()
    program = program_of(lambda x: called_back(np.sum(x)) + np.exp(x), np.ones(3))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    profile = program.profile(np.ones(3), repeats=2)
    assert [timing.seconds for timing in profile.timings] == [float(t.is_callback) for t in profile.timings]
    assert (profile.whole, profile.entry) == (0.0, 0.0)
    assert [" ".join(line.split()) for line in str(profile).splitlines()] == [
        "f: 0 ns a run, 1.00 s in instructions, 100.0% of it in callbacks",
        "0 ns %1 sum(in0; axes=0) float64[]",
        "1.00 s %2 callback called_back(%1) float64[]",
        "~0 ns %3 exp(in0) float64[3]",
        "~0 ns %4 add(%2, %3) float64[3]",
        "0 ns arguments and results",
        "-1.00 s between rows",
    ]


def test_a_profile_takes_arguments_or_their_leaves_in_any_order_of_memory():
    f = tape.compile(lambda p, n, x: p["a"] * n + x.T)
    a, x = np.ones((3, 2)), np.asfortranarray(np.ones((2, 3)))
    f({"a": a}, 2, x)
    program = only(f)
    assert len(program.profile({"a": a}, 2, x, repeats=1).timings) == len(program.profile(a, x).timings)


def test_a_profile_takes_ints_that_are_data_beside_what_is_static_or_alone():
    f = tape.compile(lambda how, x, n: x * n if how == "a" else x)
    for n in (2, 3, 4):
        f("a", np.ones(3), n)
    program, x = only(f), np.ones(3)
    for args in (("a", x, 5), (x, 5), (x, np.int64(5))):
        profile = program.profile(*args, repeats=1)
        assert [row for timing in profile.timings for row in timing.rows] == list(range(len(program)))
    for number in (2**31, 2.0, True):
        for args in (("a", x, number), (x, number)):
            with pytest.raises(errors.DTypeError, match=f"leaf 1 is {number}, of .* for a scalar of int64"):
                program.profile(*args, repeats=1)
    with pytest.raises(errors.ShapeError, match="takes 2 arrays and numbers, and was given 1"):
        program.profile(x)


def test_donated_arrays_are_left_alone():
    f = tape.compile(lambda w: w * 2, donate=0)
    f(np.ones(3))
    w = np.ones(3)
    only(f).profile(w, repeats=3)
    np.testing.assert_array_equal(w, np.ones(3))


def test_what_cannot_be_profiled_says_why():
    program = program_of(lambda x, i: x[i] if x[0] > 0 else x, np.ones(3), np.array([1]))
    with pytest.raises(errors.UnsupportedError, match="one path"):
        program.profile(-np.ones(3), np.array([1]))
    with pytest.raises(errors.UnsupportedError, match="the machine stops at take"):
        program.profile(np.ones(3), np.array([7]))
    with pytest.raises(errors.ShapeError, match="leaf 0 has shape"):
        program.profile(np.ones(4), np.array([1]))
    with pytest.raises(errors.DTypeError, match="leaf 0 is float32"):
        program.profile(np.ones(3, np.float32), np.array([1]))
    with pytest.raises(errors.ShapeError, match="takes 2"):
        program.profile(np.ones(3))
    for repeats in (0, True, 1.5):
        with pytest.raises(errors.OptionError, match="repeats"):
            program.profile(np.ones(3), np.array([1]), repeats=repeats)
    assert program(np.ones(3), np.array([2])) == [1.0]


def test_a_compiled_function_says_how_many_programs_it_has():
    def double(x):
        return 2 * x

    compiled = tape.compile(double)
    compiled(1.0), compiled(np.ones(2)), compiled(2.0)
    assert repr(compiled) == "<compiled double: 2 programs>"


# ---- programs of traces ------------------------------------------------------------------------------


def test_the_program_of_a_trace_is_one_like_others(tmp_path):
    trace = tape.Trace(name="t")
    w, x = trace.param(np.ones((3, 2))), trace.input(np.ones((4, 3)))
    program = trace.compile(np.tanh(x @ w).sum())
    value, (grad,) = program.run()
    leaves = [w.value, x.value]
    program.save(tmp_path / "t.tape")
    for other in (program, tape.load(tmp_path / "t.tape")):
        assert str(other) == str(program)
        assert len(other.profile(*leaves, repeats=1).timings) == len(program)
        found = other(*leaves)
        assert found[0] == value
        np.testing.assert_array_equal(found[1][0], grad)
