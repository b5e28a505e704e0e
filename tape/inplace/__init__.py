"""In-place code on a tape: handles that share memory, and writes to them."""
