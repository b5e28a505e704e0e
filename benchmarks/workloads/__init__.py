"""The workloads, one family a file; `benchmarks.registry` finds them by itself."""
