"""Machine code for loops that have run long.

The machine finds out what each entry of scalar code is whenever it runs it, which takes several times as long
as the arithmetic; and each row of arrays writes what the next one reads. A loop counts its steps, over all
runs, and pauses once it has run so often that compiling what it does is worth it, which takes some
milliseconds; the rest of its steps, and all later runs, are machine code of their own. The results are the
same, bit for bit, and a loop that runs less costs nothing.

`numbers` writes an entry of scalar code as LLVM IR, `loops` the steps of a loop that is nothing but that,
`lanes` rows of arithmetic on arrays of one length, which become one loop, and `compiling` compiles them.
"""

from tape.program.hot.compiling import Code, compile_segments, compile_steps, watched
from tape.program.hot.lanes import segments_of
from tape.program.hot.loops import count_of

__all__ = ["Code", "compile_segments", "compile_steps", "count_of", "segments_of", "watched"]
