"""The frames of an animation: which node is visited, what is read and written, and the caption.

Relies on `tape.viz.passes` for the steps and on `tape.viz.view` for texts. Knows nothing of drawing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tape.viz.passes import Phase, Step, Write, backward_steps, forward_steps, tangent_steps
from tape.viz.view import View, value_text

if TYPE_CHECKING:
    from tape.core.trace import Trace
    from tape.core.var import Var

SLOTS: dict[Phase, str] = {"forward": "value", "backward": "adjoint", "tangent": "tangent"}
"""The value that each pass writes to a node."""

_LONGEST_SUM = 30  # characters; longer sums are shown by what they come to


@dataclass(frozen=True)
class Frame:
    """One frame of an animation.

    Attributes
    ----------
    phase : {"forward", "backward", "tangent"} or None
        Of which pass; None for the last picture, which shows the results.
    caption : str
        What happens.
    node : int or None
        Which node is visited.
    edges : sequence of (parent, child)
        Which edges are used.
    reads : sequence of int
        Which other nodes the visited one looks at.
    written, final : dict of int to str
        What is written to nodes: as it is shown now, ``"42 + 3 = 45"``, and from the next frame on, ``"45"``.
    """

    phase: Phase | None
    caption: str
    node: int | None = None
    edges: Sequence[tuple[int, int]] = ()
    reads: Sequence[int] = ()
    written: Mapping[int, str] = field(default_factory=dict)
    final: Mapping[int, str] = field(default_factory=dict)


def frames_of(
    trace: Trace,
    view: View,
    passes: Sequence[Phase],
    root: Var | None,
    seed: Any = None,
    tangents: Mapping[Var, Any] | None = None,
) -> list[Frame]:
    """Return all frames: one for each node visited, pass by pass, and one at the end."""
    drawn = frozenset(view.ids)
    frames: list[Frame] = []
    results: dict[int, str] = {}
    for phase in passes:
        steps: Iterator[Step]
        if phase == "forward":
            steps = forward_steps(trace)
        elif phase == "tangent":
            steps = tangent_steps(trace, tangents)
        else:
            assert root is not None
            steps = backward_steps(trace, root, seed)
        results = {}  # those of the last pass are what is said at the end
        for step in steps:
            if step.node in drawn:
                frames.append(_frame(view, step, drawn, results))
                results.update(frames[-1].final)
    return [*frames, Frame(None, _conclusion(trace, view, passes[-1], root, results))]


def call_of(view: View, i: int) -> str:
    """Describe a node: its name, or the call that recorded it."""
    return view.name(i) or f"{view.op_name(i)}{view.arguments(i, 28)}"


def _frame(view: View, step: Step, drawn: frozenset[int], so_far: Mapping[int, str]) -> Frame:
    writes: dict[int, list[Write]] = {}
    for write in step.writes:
        if write.id in drawn:
            writes.setdefault(write.id, []).append(write)
    final = {i: value_text(parts[-1].total, view.precision) for i, parts in writes.items()}
    reads = [i for i in step.reads if i in drawn and i != step.node]
    if step.phase != "backward":
        edges = [(parent, step.node) for parent in reads]
        return Frame(step.phase, _says(view, step, final), step.node, edges, reads, final, final)
    added = {i: [value_text(part.added, view.precision) for part in parts] for i, parts in writes.items()}
    written = {i: _sum([*([so_far[i]] if i in so_far else []), *added[i]], final[i]) for i in writes}
    edges = [(i, step.node) for i in writes if i != step.node]
    said = {i: " and ".join(parts) for i, parts in added.items()}
    return Frame(step.phase, _says(view, step, said), step.node, edges, reads, written, final)


def _sum(parts: Sequence[str], total: str) -> str:
    """Write out a sum where that is short enough to be read, else its total."""
    text = f"{' + '.join(parts)} = {total}".replace("+ -", "- ")
    is_written_out = all(part.startswith("[") or " " not in part for part in (*parts, total))
    return text if len(parts) > 1 and len(text) <= _LONGEST_SUM and is_written_out else total


def _says(view: View, step: Step, texts: Mapping[int, str]) -> str:
    """Return the caption of a step."""
    i = step.node
    call = f"{view.op_name(i)}{view.arguments(i)}"
    if step.phase == "forward":
        return f"{_label(view, i)} = {texts[i] if view.kind(i) != 'op' else f'{call} = {texts[i]}'}"
    if step.phase == "tangent":
        how = "moves by" if view.kind(i) != "op" else f"= {call} moves by"
        return f"{_label(view, i)} {how} {texts[i]}"
    if not step.reads:
        return f"start: the adjoint of {_label(view, i)} is {texts[i]}"
    gains = ", ".join(f"{_label(view, parent)} gains {text}" for parent, text in texts.items())
    return f"back through {call}: {gains}"


def _label(view: View, i: int) -> str:
    return view.name(i) or f"%{i}"


def _conclusion(trace: Trace, view: View, last: Phase, root: Var | None, results: Mapping[int, str]) -> str:
    """Return the caption of the last frame: the result of the last pass."""
    end = root.id if root is not None else view.ids[-1]
    if last == "forward":
        return f"{_label(view, end)} = {view.value(end)}"
    if last == "tangent":
        return f"{_label(view, end)} moves by {results.get(end, '0')}"
    params = [i for i in view.ids if trace.nodes[i].is_param]
    return f"gradient of {_label(view, end)}: " + ", ".join(
        f"{_label(view, i)} {results.get(i, '0')}" for i in params
    )
