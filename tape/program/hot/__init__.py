"""Machine code for loops that have run long.

The machine finds out what each entry of scalar code is whenever it runs it, which takes several times as long
as the arithmetic. A loop whose body is nothing but that pauses once it has run so often that compiling its
steps is worth it, which takes some milliseconds; the rest of its steps, and all later runs, are machine code
of their own. The results are the same, bit for bit, and a loop that runs less costs nothing.

`numbers` writes an entry as LLVM IR, `loops` the steps of a loop, and `compiling` compiles them.
"""

from tape.program.hot.compiling import compile_steps, watched

__all__ = ["compile_steps", "watched"]
