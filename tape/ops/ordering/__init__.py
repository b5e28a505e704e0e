"""Sorting, and sets."""
