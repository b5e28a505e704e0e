"""The plan of a program: memory, order, layouts."""
