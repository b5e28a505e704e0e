"""The verifier on encoded programs: accepts them, and of their mutants those that stay in their memory."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tape
from tape import errors, ops
from tape.program.native.functions import DATA_TABLE, FUNCTION_TABLE, prepare
from tape.program.native.opcodes import (
    ARENA,
    AT,
    BETWEEN_STEPS,
    BODIES,
    CODE,
    DATA,
    DONE,
    FIELDS,
    FUNCTIONS,
    LITERALS,
    REGISTERS,
    ROWS,
    SLOTS,
    SPEC,
    THREADS,
    WIDTH,
)
from tape.program.plan import pairs
from tape.program.plan import planner as planning
from tape.program.program import Program
from tape.program.record.recording import record
from tape.program.runtime import pauses
from tape.program.runtime.slots import Body, Slot, slots_of
from tape.program.runtime.verify import verify
from tests.op_table import TWO_OF_EACH, a_third, one_of_each
from tests.oracles import gradient_of_sines
from tests.tiers import rounds, takes_long

ROOT = Path(__file__).parents[1]

# ---- what the encoder makes ----------------------------------------------------------------------


def program(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Program(record(f, args, {}, "f"), as_numpy=f is _as_numpy)


def reverified(made):
    callbacks = [id for id, step in enumerate(made.plan.instructions) if step.op == "callback"]
    verify(made.code, made.rows, slots_of(made.plan), callbacks, [Body.of(body.plan) for body in made.bodies])
    for body in made.bodies:
        reverified(body)


@takes_long
def test_programs_of_the_op_table(monkeypatch):
    """Gradients, where there are any; in blocks, and not."""
    monkeypatch.setattr(pairs, "_LONG_BYTES", 8)
    for k, case in enumerate(a_third(one_of_each(TWO_OF_EACH), 2)):
        monkeypatch.setattr(planning, "GROUPED_BYTES", 8 if k % 2 else 16384)
        f, args = case.on(tape.ops), case.args()
        if case.has_derivative:
            f = gradient_of_sines(f, args)
        reverified(program(f, *args))


def test_slots_say_what_may_be_written_to():
    """Arguments only if they are donated; results that take over their memory have none of their own."""
    w, x = np.ones(4), np.ones(4, np.float32)
    made = Program(record(lambda w, x: (w + 1, x * 2), (w, x), {}, "f"), donated=frozenset([0]))
    reverified(made)
    slots = slots_of(made.plan)
    assert [slots[k] for k in made.plan.input_slots] == [Slot(32, 8, True), Slot(16, 4, False)]
    assert [slots[k].size for k in made.plan.output_slots] == [0, 16]
    assert not slots[LITERALS].is_writable


def test_large_programs_are_verified_whole():
    def chain(x):
        for k in range(3000):
            x = np.sin(x) * 2.0 if k % 7 and k % 11 and k % 13 else np.cos(x)
        return x

    made = program(chain, np.ones(9))
    code = made.code.copy()
    last = (made.rows - 1) * WIDTH
    code[last + 2] += 1  # its count
    with pytest.raises(errors.ProgramError, match=rf"row {made.rows - 1} .*reaches"):
        verify(code, made.rows, slots_of(made.plan))


# ---- fuzzing -------------------------------------------------------------------------------------


def _where(c, x, y):
    return np.where(c > 0, np.sin(x.T), np.cos(y))


def _branch(x):
    return np.exp(x) if x[0] > 0 and int(x[1]) == 1 else x


def _index(x, i, j):
    return tape.grad(lambda x: np.sum(x[i, j] ** 2) + np.sum(x[i] ** 3) + np.sum(x[1:, ::2] ** 2))(x)


def _solve(a, b):
    return tape.grad(lambda a: np.sum(tape.ops.solve(a, b) ** 2))(a)


def _triangular(a, b):
    factor = np.linalg.cholesky(a)
    half = tape.ops.linalg.solve_triangular(factor, b, lower=True)
    return tape.ops.linalg.solve_triangular(np.swapaxes(factor, -1, -2), half)


def _factored(a):
    def loss(a):
        values, vectors = np.linalg.eigh(a)
        q, r = np.linalg.qr(a[..., 1:])
        return np.sum(values * vectors[..., 0]) + np.sum(q) + np.sum(r**2) + np.sum(np.linalg.det(a))

    return tape.grad(loss)(a), np.linalg.svd(a), np.linalg.slogdet(a)


def _running(x):
    return tape.grad(lambda x: np.sum(np.cumprod(x, axis=1) * np.cumsum(x, axis=0)))(x)


def _mlp(w, v, x):
    return tape.value_and_grad(lambda w, v: np.mean((np.tanh(x @ w) @ v) ** 2), argnums=(0, 1))(w, v)


def _convolved(x, w):
    def loss(x, w):
        return np.sum(tape.nn.max_pool1d(tape.nn.conv1d(x, w, padding=1, stride=2, groups=2), 2) ** 2)

    return tape.grad(loss, argnums=(0, 1))(x, w)


def _scanned(w, x):
    def loss(w, x):
        c, ys = tape.scan(lambda c, x: (np.tanh(w * c + x), (c * 2, np.sum(x))), w, x, reverse=True)
        return np.sum(c) + np.sum(ys[0] ** 2) + np.max(ys[1])

    return tape.grad(loss, argnums=(0, 1))(w, x)


def _nested(w, x):
    def row(c, x):
        return tape.fori_loop(0, 2, lambda i, d: np.sin(d) * c + i * x[i], c), x[::-1]

    return tape.scan(row, w, x)


def _called_back(w, x):
    return tape.scan(lambda c, x: (np.sort(c) + x, np.fft.fft(c).real), w, x)


def _as_numpy(x, w):
    return ops.sum(np.tanh(x @ w), axis=0), np.stack([x, x]) @ w @ w.T, ops.mean(w, axis=1)


def subjects():
    """Programs with rows of all kinds, and arguments for them."""
    rng = np.random.default_rng(0)

    def draw(*shape, dtype=float):
        return rng.uniform(1, 2, shape).astype(dtype)

    indices = np.array([2, 0, 2, -1])
    return [
        (_mlp, (draw(3, 4), draw(4, 2), draw(5, 3))),
        (lambda x, y: x @ y, (draw(70, 70), draw(70, 70))),
        (_mlp, tuple([draw(*shape, dtype=np.float32) for shape in ((3, 4), (4, 2), (5, 3))])),
        (_as_numpy, (draw(5, 4), draw(4, 3))),
        (_as_numpy, (draw(5, 4, dtype=np.float32), draw(4, 3, dtype=np.float32))),
        (_where, (draw(6, 5), draw(5, 6), draw(6, 5))),
        (_where, (draw(6, 5), draw(5, 6, dtype=np.float32), draw(6, 5))),
        (_branch, (draw(5),)),
        (_index, (draw(4, 3), indices, np.array([0, 1, 2, 2]))),
        (_solve, (np.eye(3) * 3 + draw(3, 3), draw(3, 2))),
        (_solve, (np.eye(3) * 3 + draw(2, 3, 3), draw(2, 3, 2))),
        (_triangular, (np.eye(3) * 9 + draw(3, 3), draw(2, 3, 1))),
        (_triangular, ((np.eye(3) * 9 + draw(2, 3, 3)).astype(np.float32), draw(3, 2, dtype=np.float32))),
        (_factored, (np.diag([3.0, 6.0, 9.0]) + draw(3, 3),)),
        (_factored, (np.diag([3.0, 6.0, 9.0]) + draw(2, 3, 3, dtype=np.float32),)),
        (lambda a, b: tape.ops.linalg.expm(np.linalg.lstsq(a, b)[0][:2]), (draw(5, 3), draw(5, 2))),
        (_running, (draw(3, 4),)),
        (lambda x, y: np.concatenate([x.T, y[::-1, ::2]], axis=1) * 2, (draw(3, 4), draw(4, 6))),
        (lambda x, y: np.max(x @ y, axis=1) + np.sum(y), (draw(3, 4, 2), draw(3, 2, 2))),
        (lambda x: np.sum(np.exp(x) / x, axis=0) * np.argmax(x, axis=0), (draw(40, 5),)),
        (lambda x: np.any(x > 1.5, axis=0) & np.all(x > 0, axis=0), (draw(4, 5),)),
        (lambda x: x / 2.0 + tape.apply(x, np.sinc, np.cos), (draw(7),)),
        (lambda x: (np.tanh(x) * 2.0 + x**3, x), (np.float64(1.5),)),
        (lambda x, y, z: np.exp(x - y) + z, (draw(6, 32), draw(6, 1), draw(32))),
        (_convolved, (draw(3, 2, 7), draw(4, 1, 3))),
        (_convolved, (draw(3, 2, 7, dtype=np.float32), draw(4, 1, 3, dtype=np.float32))),
        (_scanned, (draw(3), draw(4, 3))),
        (_scanned, (draw(3, dtype=np.float32), draw(4, 3, dtype=np.float32))),
        (_nested, (draw(3), draw(4, 3))),
        (_called_back, (draw(3), draw(4, 3))),
    ]


GUARD_BYTES, MARK = 4096, 0xA5
NASTY = [0, 1, -1, 2, 3, 7, 8, -8, 16, 64, 2**63 - 1, -(2**63), 2**62, 2**43, 2**43 - 1, 1 << 44, 3 << 43]


class Bench:
    """The slots of a program, or of a body, each between guard bytes; and a way to run other numbers."""

    def __init__(self, made, args=()):
        plan = made.plan
        self.made, self.slots = made, slots_of(plan)
        self.callbacks = [id for id, step in enumerate(plan.instructions) if step.op == "callback"]
        self.bodies = [Bench(body) for body in made.bodies]
        self.memory = [np.full(slot.size + 2 * GUARD_BYTES, MARK, np.uint8) for slot in self.slots]
        contents = {LITERALS: np.frombuffer(plan.literals, np.uint8)}
        contents.update(zip(plan.input_slots, args, strict=False))
        contents.update(zip(plan.constant_slots, plan.constants, strict=True))
        for slot, array in contents.items():
            array = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            size = min(self.slots[slot].size, len(array))
            self.memory[slot][GUARD_BYTES : GUARD_BYTES + size] = array[:size]
        for slot in (ARENA, REGISTERS):
            self.memory[slot][GUARD_BYTES:-GUARD_BYTES] = 0
        self.before = [array.copy() for array in self.memory]
        self.frame = np.zeros(SLOTS + len(self.slots), np.int64)
        self.spec = np.zeros(8, np.int64)
        self.frames = np.array([body.frame.ctypes.data for body in self.bodies], np.int64)
        self.frame[[FUNCTIONS, DATA, SPEC, THREADS, BODIES]] = (
            FUNCTION_TABLE.ctypes.data, DATA_TABLE.ctypes.data, self.spec.ctypes.data, 1,
            self.frames.ctypes.data,
        )  # fmt: skip
        self.load(made.code)

    def load(self, code):
        """Take an instruction array; all slots are where they were, also those that a loop binds."""
        self.code = code
        self.frame[[CODE, ROWS, AT, DONE]] = code.ctypes.data, self.made.rows, 0, 0
        self.frame[SLOTS:] = [array.ctypes.data + GUARD_BYTES for array in self.memory]
        for body in self.bodies:
            body.load(body.made.code)

    def all(self):
        """The bench, and those of the bodies of its loops."""
        return [self, *[one for body in self.bodies for one in body.all()]]

    def verify(self):
        bodies = [Body.of(body.made.plan) for body in self.bodies]
        verify(self.code, self.made.rows, self.slots, self.callbacks, bodies)

    def run(self):
        """Run all rows but those that need Python; whatever is not to be written to is as it was."""
        resume = prepare().as_python("call")
        while self.frame[AT] < self.made.rows:
            resume(self.frame)
            self.skip()
        for bench in self.all():
            bench.check()

    def skip(self):
        """Go on behind the row that needs Python; in the middle of a row, there."""
        frame = self.frame
        if frame[AT] == BETWEEN_STEPS:
            frame[AT] = 0
        elif not frame[DONE]:
            frame[AT] += 1
        elif list(FIELDS)[self.code[frame[AT] * WIDTH]] == "loop":
            self.bodies[self.code[frame[AT] * WIDTH + 1]].skip()

    def check(self):
        for slot, array, before in zip(self.slots, self.memory, self.before, strict=True):
            end = GUARD_BYTES + slot.size
            parts = [slice(0, GUARD_BYTES), slice(end, None)]
            if not slot.is_writable:
                parts = [slice(None)]
            for part in parts:
                assert array[part].tobytes() == before[part].tobytes()
            array[:] = before


def mutated(rng, made):
    """The instruction array with one to three words changed, most of them in rows."""
    code = made.code.copy()
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.9:
            row = rng.integers(made.rows)
            name = list(FIELDS)[made.code[row * WIDTH]]
            at = row * WIDTH + rng.integers(1 + len(FIELDS[name]))
        else:
            at = rng.integers(len(code))
        word = int(code[at])
        others = [
            word + 1, word - 1, word + 8, word - 8, word - 64, word // 2, 2 * word, -word,
            word ^ 1 << int(rng.integers(64)), 1 << int(rng.integers(64)), -1 << int(rng.integers(64)),
            int(rng.integers(40)), int(rng.choice(code)), int(rng.choice(code)) * 8, int(rng.choice(NASTY)),
            int(rng.integers(-(2**63), 2**63 - 1)),
        ]  # fmt: skip
        code[at] = (others[rng.integers(len(others))] + 2**63) % 2**64 - 2**63
    return code


def fuzz(seed, count):
    """Run every mutant that is accepted; prints how many there were."""
    rng = np.random.default_rng(seed)
    benches, pairs._LONG_BYTES = [], 8
    for planning.GROUPED_BYTES, pauses.BETWEEN in ((8, 50e6), (16384, 50e6), (8, 1e3)):
        benches += [Bench(program(f, *args), args) for f, args in subjects()]
    for bench in benches:
        bench.run()
    accepted = 0
    for k in range(count):
        bench = benches[k % len(benches)]
        bench.load(bench.made.code)
        each = bench.all()
        one = each[rng.integers(len(each))]
        one.code = mutated(rng, one.made)
        one.frame[CODE] = one.code.ctypes.data
        try:
            one.verify()
        except errors.ProgramError:
            continue
        accepted += 1
        changed = np.flatnonzero(one.code != one.made.code)
        os.write(2, f"{k}: {bench.made.plan.instructions[-1]} {changed} {one.code[changed]}\n".encode())
        bench.run()
    kinds = {
        kind
        for bench in benches
        for one in bench.all()
        for kind in one.made.code[: one.made.rows * WIDTH : WIDTH]
    }
    print(accepted, len(kinds))


def test_mutants_are_refused_or_stay_in_their_memory():
    """In another process, whose death would not be ours."""
    count = rounds(4000, plain=600)
    call = "import sys; from tests.test_verify_programs import fuzz; fuzz(int(sys.argv[1]), int(sys.argv[2]))"
    command = [sys.executable, "-X", "faulthandler", "-c", call, "0", str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    accepted, kinds = map(int, done.stdout.split())
    assert 0.1 * count < accepted < 0.9 * count
    assert kinds == len(FIELDS)
