"""The instructions of a program: building, simplifying and checking them."""
