"""Loop rows: the steps of a body, which has a frame of its own."""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import call2, call3, int64_at, set_int64, uint8_at
from tape.program.native.frames import ADDRESSES, OFFSETS, ROW, address, field
from tape.program.native.opcodes import (
    AT,
    BETWEEN_STEPS,
    BODIES,
    BY_COUNT,
    BY_FLAG,
    DONE,
    FIELDS,
    FUNCTIONS,
    ROWS,
    opcode,
)

_LEFT, _COMPILED = 1 + FIELDS["loop"].index("left"), 1 + FIELDS["loop"].index("compiled")
_STATE, _KEPT_STATE = map(opcode, ("state", "kept_state"))
_DO_MOVE, _DO_RUN = OFFSETS["memmove"], OFFSETS["run"]


@inner
def _bind_step(row, frame, body, step, first, stop):  # type: ignore[no-untyped-def]
    """Write the addresses of what the body of a loop reads and writes in a step into its frame."""
    bindings, states = field(row, 3), field(row, 4)
    other = row + ROW
    for _ in range(bindings if step == first else field(row, 8)):
        slot = body + ADDRESSES + 8 * field(other, 1)
        set_int64(slot, address(frame, field(other, 4)) + step * field(other, 2))
        other += ROW
    other = row + ROW * (1 + bindings)
    do_move = int64_at(field(frame, FUNCTIONS) + _DO_MOVE)
    for _ in range(states):
        kind = field(other, 0)
        if kind == _KEPT_STATE:
            if step == first:
                target = address(frame, field(other, 4))
                call3(do_move, (target, address(frame, field(other, 3)), field(other, 2)))
                set_int64(body + ADDRESSES + 8 * field(other, 1), target)
            other += ROW
            continue
        if kind == _STATE:
            # What the last step writes is the result; from there back, it and the spare one take turns.
            source, target = address(frame, field(other, 5)), address(frame, field(other, 6))
            if (stop - step) % 2:
                source, target = target, source
            if step == first:
                source = address(frame, field(other, 4))
        else:
            here = address(frame, field(other, 6)) + step * field(other, 7)
            if field(other, 8):
                source, target = here, here + field(other, 7)
                if step == stop - 1:
                    target = address(frame, field(other, 5))
                if step == first:
                    call3(do_move, (source, address(frame, field(other, 4)), field(other, 3)))
            else:
                source, target = here - field(other, 7), here
                if step == first:
                    source = address(frame, field(other, 4))
        set_int64(body + ADDRESSES + 8 * field(other, 1), source)
        set_int64(body + ADDRESSES + 8 * field(other, 2), target)
        other += ROW


@inner
def _bind_next_step(row, body):  # type: ignore[no-untyped-def]
    """Do what `_bind_step` does in a step that is neither of the first two nor the last one.

    Its addresses follow from those of the step before: they move, or change places.
    """
    other = row + ROW
    for _ in range(field(row, 8)):
        slot = body + ADDRESSES + 8 * field(other, 1)
        set_int64(slot, int64_at(slot) + field(other, 2))
        other += ROW
    other = row + ROW * (1 + field(row, 3))
    for _ in range(field(row, 4)):
        kind = field(other, 0)
        if kind != _KEPT_STATE:
            slot_in, slot_out = body + ADDRESSES + 8 * field(other, 1), body + ADDRESSES + 8 * field(other, 2)
            source, target = int64_at(slot_in), int64_at(slot_out)
            if kind == _STATE:
                source, target = target, source
            else:
                source, target = source + field(other, 7), target + field(other, 7)
            set_int64(slot_in, source)
            set_int64(slot_out, target)
        other += ROW


@inner
def _finish_state(other, frame, first, step, stop):  # type: ignore[no-untyped-def]
    """Put the last state where the result is, if it is not there."""
    kind, do_move = field(other, 0), int64_at(field(frame, FUNCTIONS) + _DO_MOVE)
    if kind == _KEPT_STATE:
        if step == first:
            out = address(frame, field(other, 4))
            call3(do_move, (out, address(frame, field(other, 3)), field(other, 2)))
        return
    source = address(frame, field(other, 4))
    is_elsewhere = True
    if step != first:
        if kind == _STATE:
            source = address(frame, field(other, 6))
            is_elsewhere = (stop - step) % 2 != 0
        else:
            is_before = field(other, 8)
            source = address(frame, field(other, 6)) + (step - 1 + is_before) * field(other, 7)
            is_elsewhere = not is_before or step != stop
    if is_elsewhere:
        call3(do_move, (address(frame, field(other, 5)), source, field(other, 3)))


@inner
def _goes_on(row, body):  # type: ignore[no-untyped-def]
    """Return whether the first state of a loop says that there is a next step."""
    slot = field(row + ROW * (1 + field(row, 3)), 1)
    return uint8_at(int64_at(body + ADDRESSES + 8 * slot)) != 0


@inner
def _run_compiled(row, frame, body, step, first, stop, last):  # type: ignore[no-untyped-def]
    """Run steps that are compiled (`tape.program.hot.loops`); return the first one that has not run.

    The first two and the last one are bound here, all others by their code.
    """
    compiled, ends = field(row, _COMPILED), field(row, 6)
    while step < stop:
        is_bound, count = 0, min(stop, last - 1) - step
        if step <= first + 1 or step == last - 1:
            _bind_step(row, frame, body, step, first, last)
            if ends == BY_FLAG and not _goes_on(row, body):
                break
            is_bound, count = 1, count if first < step < last - 1 else 1
        done = call3(compiled, (body, count, is_bound))
        step += done
        if done < count:  # the first state says that it is over
            break
    return step


@inner
def loop(row, frame):  # type: ignore[no-untyped-def]
    """Run a portion of the steps of a loop; return whether none is left.

    If some are, the body's frame says where its run ended: in a row that Python must handle, or between
    steps.
    """
    table = field(frame, FUNCTIONS)
    body = int64_at(field(frame, BODIES) + 8 * field(row, 1))
    last, bindings, states, ends = field(row, 2), field(row, 3), field(row, 4), field(row, 6)
    first = 0
    if ends > BY_FLAG:
        count = min(max(int64_at(address(frame, field(row, 7))), 0), last)
        first, last = (0, count) if ends == BY_COUNT else (last - count, last)
    begun = field(frame, DONE)
    step, at, is_inside = first, 0, 0
    if begun:
        step, at, is_inside = (begun - 1) // 2, field(body, AT), (begun - 1) % 2
    stop, left, begin = min(step + field(row, 5), last), field(row, _LEFT), step
    if left:
        stop = min(stop, step + left)
    do_run = int64_at(table + _DO_RUN)  # by address, as it runs this very function
    if field(row, _COMPILED):
        step = _run_compiled(row, frame, body, step, first, stop, last)
    else:
        while step < stop:
            if not is_inside:  # else that was done before the machine stopped
                if first + 1 < step < last - 1:
                    _bind_next_step(row, body)
                else:
                    _bind_step(row, frame, body, step, first, last)
                if ends == BY_FLAG and not _goes_on(row, body):
                    break
            at = call2(do_run, (body, at))
            if at != field(body, ROWS):
                set_int64(body + 8 * AT, at)
                set_int64(frame + 8 * DONE, 2 * step + 2)
                return False
            at, is_inside = 0, 0
            step += 1
    is_over = step < stop or step == last
    if left:  # one that is over does not pause: it will, with 1 left, in another run
        set_int64(row + 8 * _LEFT, max(left - (step - begin), 1 if is_over else 0))
    if not is_over:
        set_int64(body + 8 * AT, BETWEEN_STEPS)
        set_int64(frame + 8 * DONE, 2 * step + 1)
        return False
    set_int64(frame + 8 * DONE, 0)
    other = row + ROW * (1 + bindings)
    for _ in range(states):
        _finish_state(other, frame, first, step, last)
        other += ROW
    return True
