"""Operations along axes: reductions, running reductions, statistics."""
