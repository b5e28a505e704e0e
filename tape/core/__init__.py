"""The engine, without operations: what a tape is, how operations get onto it, how it is swept, and Var."""
