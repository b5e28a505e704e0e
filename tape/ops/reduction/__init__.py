"""Operations along axes: reductions, running ones, statistics."""
