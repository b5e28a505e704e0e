"""Operations that work element by element, with broadcasting."""
