"""Running a program: the instruction array, the machine, the verifier, machine code."""
