"""First version: interprets the listing in Python."""
from __future__ import annotations
from typing import Any
import numpy as np
from tape.program.instructions import ELEMENTWISE
from tape.program.rewrite import rewrite


class Flip:
    def __init__(self, index: int, outcome: Any) -> None:
        self.index, self.outcome = index, outcome


class Rerun(Exception):
    pass


class Program:
    def __init__(self, recorded: Any, donated: frozenset[int] = frozenset(), name: str = "f") -> None:
        self.listing = rewrite(recorded)
        self.recorded = recorded

    def __len__(self) -> int:
        return len(self.listing.instructions)

    def run(self, leaves: tuple[Any, ...]) -> Any:
        L = self.listing
        vals: list[Any] = []
        for ins in L.instructions:
            x = [vals[o] for o in ins.operands]
            op = ins.op
            with np.errstate(all="ignore"):
                if op == "input":
                    v = np.asarray(leaves[ins.attrs[0]], ins.dtype)
                elif op == "constant":
                    v = L.constants[ins.attrs[0]]
                elif op == "literal":
                    v = np.frombuffer(ins.attrs[1], ins.attrs[0])[0]
                elif op in ELEMENTWISE:
                    v = ELEMENTWISE[op](*x)
                elif op == "where":
                    v = np.where(*x)
                elif op == "cast":
                    v = x[0].astype(ins.dtype)
                elif op == "reshape":
                    v = x[0].reshape(ins.shape)
                elif op == "transpose":
                    v = x[0].transpose(ins.attrs[0])
                elif op == "broadcast":
                    v = np.broadcast_to(x[0], ins.shape)
                elif op == "slice":
                    v = x[0][_key(*ins.attrs, ins.shape)]
                elif op == "fold":
                    kind, axes = ins.attrs
                    v = getattr(np, kind)(x[0], axis=axes if kind[:3] != "arg" else axes[0])
                elif op == "matmul":
                    v = x[0] @ x[1]
                elif op == "solve":
                    v = np.linalg.solve(*x)
                elif op == "take":
                    v = np.take(x[0], x[1], ins.attrs[0])
                elif op == "ravel_index":
                    v = np.ravel_multi_index([np.where(i < 0, i + n, i) for i, n in zip(x, ins.attrs[0])], ins.attrs[0])
                elif op == "add_at":
                    v = np.array(x[0])
                    if len(x) == 2:
                        v[_key(*ins.attrs, x[1].shape)] += x[1]
                    else:
                        np.add.at(v, (slice(None),) * ins.attrs[0] + (x[2],), x[1])
                elif op == "concatenate":
                    v = np.concatenate(x, ins.attrs[0])
                elif op == "callback":
                    f, places, attrs = L.callbacks[ins.attrs[0]]
                    it = iter(x)
                    v = f.forward(*[next(it) if p is None else p for p in places], **attrs)
                elif op == "guard":
                    g = L.guards[ins.attrs[0]]
                    got = (bool if g.kind == "bool" else int)(x[0])
                    if got != g.outcome:
                        return Flip(ins.attrs[0], got)
                    v = np.bool_(True)
                else:
                    raise ValueError(op)
            v = np.asarray(v)
            assert v.shape == ins.shape and v.dtype == ins.dtype, (ins, v.shape, v.dtype)
            vals.append(v)
        outs = iter(L.outputs)
        return [np.array(vals[next(outs)])[()] if type(o) is int else o for o in self.recorded.outputs]


def _key(starts: Any, steps: Any, shape: Any) -> Any:
    return tuple(slice(s, s + n * st if s + n * st >= 0 else None, st) for s, st, n in zip(starts, steps, shape))
