"""Worker threads of the machine: how they are given work, how they wait for more, and when they end.

The first row that is worth it starts a thread. It then waits for the next one for some tenths of a
millisecond, which is longer than starting another takes, and ends. All programs of a process share them. Each
has a seat in a table of the process, `tape.program.native.threads.SEATS`, which says what it is doing:

    EMPTY, LEFT -> CLAIMED -> posted -> BUSY -> WAITING -> CLAIMED ... -> LEFT
                              posted -> WAITING    taken back
                                        WAITING -> LEFT, or LEAVING -> LEFT

A state that several threads may change is compared with what it was, in one atomic step. The caller claims
seats that are empty or whose thread is waiting, posts its row there (the state is then the address of the
frame), and does its own part. Then it takes back what no thread has begun with, and waits for the others. The
parts of a row are divided further: a thread that has done its own takes from those of others, so that nobody
waits for a thread that the system has not let run.

`tape.program.native.machine` does the work: these functions know nothing of rows.
"""

from __future__ import annotations

from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import (
    call1,
    call2,
    call3,
    call4,
    fetch_and_add,
    int64_at,
    pause,
    replace_int64,
    share_int64,
    shared_int64_at,
)
from tape.program.native.frames import OFFSETS, field, put
from tape.program.native.opcodes import (
    BLAS_LOCK,
    BLAS_THREADS,
    BLAS_USERS,
    BUSY,
    CLAIMED,
    EMPTY,
    ENVIRONMENT,
    FRAME_BYTES,
    FUNCTIONS,
    JOB_CALLER,
    JOB_CHUNK,
    JOB_DONE,
    JOB_FLAGS,
    JOB_NEXT,
    JOB_NUMBER,
    JOB_ROW,
    JOB_SEAT,
    JOB_STOP,
    JOB_THREADS,
    LEAVING,
    LEFT,
    MOST_THREADS,
    OTHERS,
    PLACE_BYTES,
    PLACES,
    REGISTERS,
    SEAT_BYTES,
    SEAT_IS_NEW,
    SEAT_PLACES,
    SEAT_TABLE,
    SEAT_THREAD,
    SLOTS,
    THREADS,
    WAITING,
)

_DO_WORK, _DO_SERVE, _DO_MOVE = OFFSETS["work"], OFFSETS["serve"], OFFSETS["memmove"]
_CREATE, _JOIN, _YIELD = OFFSETS["pthread_create"], OFFSETS["pthread_join"], OFFSETS["sched_yield"]
_CPU, _SEATS = OFFSETS["sched_getcpu"], OFFSETS["seats"]
_SELF, _MOVE_TO = OFFSETS["pthread_self"], OFFSETS["sched_setaffinity"]
_GET_ENVIRONMENT, _SET_ENVIRONMENT = OFFSETS["fegetenv"], OFFSETS["fesetenv"]
_TEST_FLAGS, _RAISE_FLAGS = OFFSETS["fetestexcept"], OFFSETS["feraiseexcept"]
_GET_THREADS, _SET_THREADS = OFFSETS["openblas_get_num_threads"], OFFSETS["openblas_set_num_threads"]
_ALL_FLAGS = 0x3F  # or fewer, whatever the processor
_SPINS = 2000  # looks at a seat before others may have the processor: some tens of microseconds
_YIELDS = 400  # looks after that: some tenths of a millisecond, if no other process wants the processor
_CHUNKS = 4  # of a thread's part


@inner
def _frame_of(frame, number):  # type: ignore[no-untyped-def]
    """Return the frame of a thread: the caller is number 0."""
    return frame if number == 0 else field(frame, OTHERS) + (number - 1) * field(frame, FRAME_BYTES)


# ---- the worker's side ---------------------------------------------------------------------------------


@inner
def serve(seat):  # type: ignore[no-untyped-def]
    """Do what is posted at a seat, until nothing has been for a while: the life of a thread."""
    table, places = field(seat, SEAT_TABLE), field(seat, SEAT_PLACES)
    put(seat, SEAT_THREAD, call1(int64_at(table + _SELF), (0,)))  # some libraries do so later
    if places:  # it started elsewhere than its caller, and may run anywhere from now on
        call3(int64_at(table + _MOVE_TO), (0, int64_at(places + 8), int64_at(places + 16)))
    while True:
        frame = _begun(seat, table)
        if not frame:
            return 0
        call1(int64_at(table + _DO_WORK), (frame,))
        share_int64(seat, WAITING)


@inner
def begin(frame):  # type: ignore[no-untyped-def]
    """Take over the floating-point environment of the caller, but for its exceptions."""
    table, caller = field(frame, FUNCTIONS), field(frame, JOB_CALLER)
    if frame != caller and int64_at(table + _SET_ENVIRONMENT):
        call1(int64_at(table + _SET_ENVIRONMENT), (caller + 8 * ENVIRONMENT,))


@inner
def finish(frame, is_done):  # type: ignore[no-untyped-def]
    """Say what has been raised, and that all is done; the frame may be gone from then on."""
    table = field(frame, FUNCTIONS)
    if int64_at(table + _SET_ENVIRONMENT):
        put(frame, JOB_FLAGS, call1(int64_at(table + _TEST_FLAGS), (_ALL_FLAGS,)) & _ALL_FLAGS)
    share_int64(frame + 8 * JOB_DONE, is_done)


@inner
def _begun(seat, table):  # type: ignore[no-untyped-def]
    """Wait for work, and return its frame; 0 where it is time to end."""
    looks = 0
    while True:
        state = shared_int64_at(seat)
        if state > LEAVING and replace_int64(seat, state, BUSY):
            return state
        if state == LEAVING:
            share_int64(seat, LEFT)
            return 0
        looks += 1
        if looks < _SPINS:
            pause()
        else:
            call1(int64_at(table + _YIELD), (0,))
        if looks > _SPINS + _YIELDS and replace_int64(seat, WAITING, LEFT):
            return 0


@inner
def next_part(frame, number):  # type: ignore[no-untyped-def]
    """Return where the next part of a thread's row starts, and the end of what it is a part of."""
    own = _frame_of(field(frame, JOB_CALLER), number)
    return fetch_and_add(own + 8 * JOB_NEXT, field(frame, JOB_CHUNK)), field(own, JOB_STOP)


# ---- the caller's side ---------------------------------------------------------------------------------


@inner
def share(row, frame, first, stop, block, most, is_worth_starting):  # type: ignore[no-untyped-def]
    """Run elements, tasks or matrices of a row on several threads; return whether all could be done.

    Parts begin at multiples of a block. Threads that wait already are taken, and others started if it is
    worth that, ``most`` with the caller.
    """
    table = field(frame, FUNCTIONS)
    threads = _claimed(frame, table, most, is_worth_starting)
    if int64_at(table + _GET_ENVIRONMENT):
        call1(int64_at(table + _GET_ENVIRONMENT), (frame + 8 * ENVIRONMENT,))
    part = ((stop - first + block - 1) // block + threads - 1) // threads * block
    chunk = max(block, part // (_CHUNKS * block) * block)
    for number in range(threads):
        own = _frame_of(frame, number)
        put(own, JOB_ROW, row)
        put(own, JOB_CALLER, frame)
        put(own, JOB_NUMBER, number)
        put(own, JOB_THREADS, threads)
        put(own, JOB_CHUNK, chunk)
        put(own, JOB_NEXT, min(first + number * part, stop))
        put(own, JOB_STOP, min(first + (number + 1) * part, stop))
        put(own, JOB_FLAGS, 0)
        put(own, JOB_DONE, -1)
    for number in range(1, threads):
        _post(_frame_of(frame, number), frame, table)
    call1(int64_at(table + _DO_WORK), (frame,))
    is_done, raised = field(frame, JOB_DONE) != 0, 0
    for number in range(1, threads):
        own = _frame_of(frame, number)
        is_done = _settled(own, table) and is_done
        raised |= field(own, JOB_FLAGS)
    raised &= ~field(frame, JOB_FLAGS)
    if raised:
        call1(int64_at(table + _RAISE_FLAGS), (raised,))
    return is_done


@inner
def _claimed(frame, table, most, is_worth_starting):  # type: ignore[no-untyped-def]
    """Claim seats, and copy the frame for each; return for how many threads there are frames."""
    seats, size, threads = int64_at(table + _SEATS), field(frame, FRAME_BYTES), 1
    for k in range(field(frame, THREADS) - 1):
        seat = seats + k * SEAT_BYTES
        is_new = False
        if not replace_int64(seat, WAITING, CLAIMED):
            if not is_worth_starting:
                continue
            if replace_int64(seat, LEFT, CLAIMED):
                call2(int64_at(table + _JOIN), (field(seat, SEAT_THREAD), 0))
            elif not replace_int64(seat, EMPTY, CLAIMED):
                continue
            is_new = True
        own = _frame_of(frame, threads)
        registers = field(own, SLOTS + REGISTERS)
        call3(int64_at(table + _DO_MOVE), (own, frame, size))
        put(own, SLOTS + REGISTERS, registers)
        put(own, JOB_SEAT, seat)
        put(seat, SEAT_IS_NEW, is_new)
        threads += 1
        if threads >= most:
            break
    return threads


@inner
def _post(own, frame, table):  # type: ignore[no-untyped-def]
    """Post the work of a frame at its seat; start the thread, if it is not there."""
    seat = field(own, JOB_SEAT)
    is_new, places = field(seat, SEAT_IS_NEW), field(frame, PLACES)
    if is_new:
        put(seat, SEAT_TABLE, table)
        put(seat, SEAT_PLACES, places)
    share_int64(seat, own)
    if not is_new:
        return
    if places:
        cpu = call1(int64_at(table + _CPU), (0,)) & 0xFFFFFFFF
        places = places + PLACE_BYTES * (1 + cpu) if cpu < int64_at(places) else 0
    do_serve, thread = int64_at(table + _DO_SERVE), seat + 8 * SEAT_THREAD
    # A C int comes back in the lower half.
    if call4(int64_at(table + _CREATE), (thread, places, do_serve, seat)) & 0xFFFFFFFF:
        put(own, JOB_DONE, 1)  # others do it
        share_int64(seat, EMPTY)  # as no thread is there to begin with it


@inner
def _settled(own, table):  # type: ignore[no-untyped-def]
    """Take back the work of a frame, or wait until it is done; return whether what was done could be."""
    done, looks = own + 8 * JOB_DONE, 0
    if shared_int64_at(done) < 0 and replace_int64(field(own, JOB_SEAT), own, WAITING):
        return True
    while shared_int64_at(done) < 0:
        looks += 1
        if looks < _SPINS:
            pause()
        else:
            call1(int64_at(table + _YIELD), (0,))
    return shared_int64_at(done) != 0


@inner
def send_away(frame):  # type: ignore[no-untyped-def]
    """End the threads that wait, as BLAS is about to use its own."""
    seats = int64_at(field(frame, FUNCTIONS) + _SEATS)
    for k in range(field(frame, THREADS) - 1):
        replace_int64(seats + k * SEAT_BYTES, WAITING, LEAVING)


# ---- the threads of BLAS -------------------------------------------------------------------------------


@inner
def keep_blas_to_one_thread(table):  # type: ignore[no-untyped-def]
    """Keep BLAS to the calling thread, until as many calls of `give_blas_its_threads`, on any threads."""
    _count_users(table, 1)


@inner
def give_blas_its_threads(table):  # type: ignore[no-untyped-def]
    """Let BLAS have as many threads as before."""
    _count_users(table, -1)


@inner
def _count_users(table, change):  # type: ignore[no-untyped-def]
    """Count who keeps BLAS to one thread: the first one changes its number of threads, the last one back."""
    if not int64_at(table + _SET_THREADS):
        return
    use = int64_at(table + _SEATS) + MOST_THREADS * SEAT_BYTES
    while not replace_int64(use + 8 * BLAS_LOCK, 0, 1):
        call1(int64_at(table + _YIELD), (0,))
    users = field(use, BLAS_USERS)
    if users == 0:
        put(use, BLAS_THREADS, call1(int64_at(table + _GET_THREADS), (0,)) & 0xFFFFFFFF)
    threads = field(use, BLAS_THREADS)
    if threads > 1 and (users == 0 or users + change == 0):
        call1(int64_at(table + _SET_THREADS), (1 if users == 0 else threads,))
    put(use, BLAS_USERS, users + change)
    share_int64(use + 8 * BLAS_LOCK, 0)
