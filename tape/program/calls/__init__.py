"""Calling a program as the function was called: keys, guards on names, shortcuts through trees."""
