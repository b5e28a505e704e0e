"""Products of all kinds; polynomials and filters, which are made of them."""
