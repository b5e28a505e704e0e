"""The first stage of a program: a function runs once on traced arguments."""
