"""The system: BLAS, memory, caches on disk, optional packages, pickling, progress bars."""
