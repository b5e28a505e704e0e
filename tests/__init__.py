"""The tests: one file for each source file, sharing `op_table`, `oracles` and `naive`."""
