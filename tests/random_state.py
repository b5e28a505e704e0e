"""Random methods of objects with state, compiled and plain: what they return, and what they leave.

A call of a compiled function may run the function more than once: for arrays in C order, with ints that are
static, with the states of generators that it draws from, or as plain Python after it was recorded in vain.
Whatever happens, its state is that of one plain call.

``python -m tests.random_state 1000`` tries that many, and prints those that differ.
"""

import random
import sys
import textwrap
from collections import deque

import numpy as np

import tape
from tests.random_ints import is_same, outcome

CHANGES = [
    "self.count += 1",
    "self.total = self.total + y.sum()",
    "self.log.append(y[0])",
    "self.log += [y[2]]",
    "del self.log[:-3]",
    "self.table['count'] += 1",
    "self.table['value'] = y * 1.5",
    "self.table.setdefault('first', y * 2)",
    "self.weights = self.weights + y.mean()",
    "self.buffer[self.count % 2] += 1.0",
    "self.best = self.best if self.best < np.sum(y) else np.sum(y)",
    "self.count = self.count + (1 if np.sum(y) > 0 else 2)",
    "self.seen.add(self.count)",
    "self.recent = [*self.recent[-2:], y[1]]",
    "self.last = x",
    "self.is_odd = not self.is_odd",
    "self.queue.append(self.count); self.queue.rotate(1)",
    "self.pair = (y[0], self.count)",
    "bump()",
]
STEPS = [
    "y = y * 1.1",
    "y = np.sin(y) + self.scale",
    "y = y[::-1]",
    "y = y[y > -100]",
    "y = y * self.rng.normal(size=y.shape)",
    "y = y + self.rng.uniform()",
    "y = y * rng.normal() if rng is not None else y",
    "y = y + k",
    "y = np.where(y > 0, y, k)",
    "y = sum((y * (i + 1) for i in range(k)), y)",
    "y = y + self.choices[k]",
    "y = -y if np.sum(y) > 0 else y * 0.5",
    "y = y + int(np.sum(y) > 0)",
    "y = tape.grad(lambda z: np.sum(np.sin(z) * y))(y)",
    "y = tape.grad(self.loss)(y)",
    "y = tape.value_and_grad(self.loss)(y)[1]",
    "y = tape.checkpoint(np.tanh)(y)",
    "y = tape.vmap(lambda z: z * 2)(y)",
    "y = tape.scan(lambda c, v: (c + v, c), 0.0, y)[1]",
    "y = tape.scan(self.body, 0.0, y)[1]",
    "y = tape.checkpoint(self.doubled)(y)",
    "y = tape.vmap(self.doubled)(y)",
    "y = tape.cond(np.sum(y) > 0, self.doubled, np.cos, y)",
    "y = tape.grad(lambda z: np.sum(self.doubled(np.sin(z)) ** 2))(y)",
    "y = tape.jvp(self.doubled, (y,), (np.cos(y),))[1]",
    "y = np.stack([self.doubled(v) for v in y])",
    "y = tripled(y)",
    "y = y + self.total * 0.01",
    "y = y * self.count",
    "y = y + self.weights",
    "y = y + self.buffer[0]",
    "y = y + len(self.log)",
    "y = y + (self.log[-1] if self.log else 0.0)",
    "y = y + self.table['count']",
    "y = y + bumps['count']",
    "with np.errstate(divide='raise'): y = y / 2",
]
ERRORS = [
    "if self.count == 3: raise ValueError(self.count)",
    "if np.sum(y) > 1: raise KeyError(k)",
    "y = y + {0: 1.0, 1: 2.0}[k]",
    "y = y + y[:k]",
]
FLAT = ["y = x.ravel('K')", "y = x.reshape(-1)", "y = x.ravel()", "y = x.T.reshape(-1)", "y = x.flatten('A')"]
CONDITIONS = ["np.sum(y) > 0", "self.count % 2 == 0", "k > 1", "y[0] < 1"]
RESULTS = ["y", "y * 2, np.sum(y)", "{'y': y, 'count': self.count}", "np.sum(y)", "y, self.total"]
MODEL = """
bumps = {{'count': 0}}
def bump():
    bumps['count'] += 1
def triple(y):
    bumps['count'] += {counted}
    return y * 3
tripled = {wrapped}
class Model:
    def __init__(self):
        self.count, self.total, self.best, self.scale, self.is_odd = 0, 0.0, 1e9, 0.5, False
        self.log, self.recent, self.seen, self.queue = [], [], set(), deque([1, 2], maxlen=4)
        self.table, self.weights, self.buffer = {{'count': 0, 'value': 0.0}}, np.zeros(6), np.zeros(2)
        self.last = self.pair = None
        self.choices, self.rng = [1.0, 2.0, 3.0, 4.0], tape.random.default_rng(0)
    def loss(self, y):
        self.count += {counted}
        return np.sum(np.tanh(y)) * self.scale
    def doubled(self, y):
        self.count += {counted}
        return y * 2
    def body(self, total, v):
        self.count += {counted}
        return total + v, total
    def step(self, x, k, rng=None):
"""


def source_of(rng):
    """The class of a model, whose step takes an array of two axes, an int and a generator."""
    lines = [rng.choice(CHANGES) for _ in range(rng.randrange(1, 5))]
    lines += [rng.choice(STEPS) for _ in range(rng.randrange(1, 6))]
    if rng.random() < 0.2 and not any("rng" in line for line in lines):  # which an exception leaves as it was
        lines.append(rng.choice(ERRORS))
    rng.shuffle(lines)
    body = [rng.choice(FLAT)]
    for line in lines:
        body += [f"if {rng.choice(CONDITIONS)}:", f"    {line}"] if rng.random() < 0.25 else [line]
    body.append(f"return {rng.choice(RESULTS)}")
    head = MODEL.format(
        counted=rng.randrange(2), wrapped=rng.choice(["wrap(triple)", "wrap(triple)", "triple"])
    )
    return head + textwrap.indent("\n".join(body), " " * 8)


def made(source, wrap):
    """A model, what its module counts, and its step."""
    space = {"np": np, "tape": tape, "deque": deque, "wrap": wrap}
    exec(source, space)
    model = space["Model"]()
    return model, space["bumps"], wrap(model.step)


def state(model, bumps):
    """What a model holds, and what was counted, in values that can be compared."""
    held = {name: value for name, value in vars(model).items() if name != "rng"}
    held["queue"], held["seen"] = list(model.queue), sorted(map(int, model.seen))
    return {**held, "draws": str(model.rng.bits.state), "bumps": bumps["count"]}


def differences(seed, calls=9):
    """The first call in which a random model differs from itself compiled: source, call, and both states."""
    rng = random.Random(seed)
    source = source_of(rng)
    draw = np.random.default_rng(seed)
    options = rng.choice([{}, {}, {"donate": 0}])
    plain, compiled = made(source, lambda f: f), made(source, lambda f: tape.compile(f, **options))
    has_generator = rng.random() < 0.5
    generators = [tape.random.default_rng(5) if has_generator else None for _ in range(2)]
    shapes = rng.choice([[(2, 3)], [(2, 3), (3, 2), (1, 6), (6, 1), (6,)]])  # each of its own kind
    for call in range(calls):
        x = np.asarray(draw.normal(size=rng.choice(shapes)), order=rng.choice("CCF"))
        k = rng.randrange(4) if rng.random() < 0.5 else 1
        found = []
        for (model, bumps, step), generator in zip((plain, compiled), generators, strict=True):
            args = (x.copy("K"), k) if generator is None else (x.copy("K"), k, generator)
            found.append((outcome(step, args), state(model, bumps)))
        if not is_same(found[1], found[0]):
            return [(source, call, *found)]
    return []


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        for difference in differences(seed):
            print(f"seed {seed}", *difference, sep="\n", flush=True)
