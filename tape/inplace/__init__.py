"""In-place code on a tape: which handles share memory, and writing."""
