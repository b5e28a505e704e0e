"""The computer: BLAS, memory, caches on disk, optional packages, progress bars."""
