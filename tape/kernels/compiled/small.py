"""Stacks of small matrices for compiled code: determinants, inverses, solutions and Cholesky factors.

LAPACK takes a fraction of a microsecond for a matrix, however small. Here the same elimination, with the same
choice of pivots, runs on 64 matrices at once, element by element. Where rounding might decide whether there
is a result, or numbers are very large or small, a matrix is left to LAPACK: so the same ones are singular.
"""

from __future__ import annotations

import math

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import call5, call6, call8, float64s, int32_at, int64_at, set_int64
from tape.kernels.small import LANES, MOST_ROWS, SCRATCH

_BYTES = 8 * LANES


_NEGLIGIBLE = 1e-13  # of the largest element: a smaller pivot may be 0 in another order of rounding


_LOW, _HIGH = 1e-290, 1e290  # no reciprocal overflows between them


_LOW_PIVOT, _HIGH_PIVOT = 1e-20, 1e30  # nor a product of eight pivots


_SIZES_OF_LAPACK = 8 * (3 + MOST_ROWS + 5)


@inner
def _lane(address, number):  # type: ignore[no-untyped-def]
    return float64s(address + number * _BYTES)


@inner
def _load(a, rows, columns, width, at, first, count, buffer):  # type: ignore[no-untyped-def]
    """Bring some matrices to columns ``at`` of the buffer, whose other lanes are parts of unit matrices."""
    size = rows * columns
    for i in range(rows):
        for j in range(columns):
            lane = _lane(buffer, i * width + at + j)
            source = float64s(a + 8 * (first * size + i * columns + j))
            for k in range(count):
                lane[k] = source[k * size]
            for k in range(count, LANES):
                lane[k] = 1.0 if i == j else 0.0


@inner
def _store(out, rows, columns, width, at, first, count, buffer):  # type: ignore[no-untyped-def]
    size = rows * columns
    for i in range(rows):
        for j in range(columns):
            lane = _lane(buffer, i * width + at + j)
            target = float64s(out + 8 * (first * size + i * columns + j))
            for k in range(count):
                target[k * size] = lane[k]


@inner
def _find_largest(rows, width, buffer, largest):  # type: ignore[no-untyped-def]
    """Find the largest absolute value in each matrix; NaN if there is one."""
    most = float64s(largest)
    for k in range(LANES):
        most[k] = 0.0
    for i in range(rows):
        for j in range(rows):
            lane = _lane(buffer, i * width + j)
            for k in range(LANES):
                size = abs(lane[k])
                most[k] = size if size > most[k] or size != size else most[k]


@inner
def _eliminate(rows, width, buffer, numbers):  # type: ignore[no-untyped-def]
    """Factorize with partial pivoting, right-hand sides included.

    The numbers are, for all lanes: the least pivot, the sign of the permutation, and two to work with.
    """
    least, sign = _lane(numbers, 0), _lane(numbers, 1)
    best, place = _lane(numbers, 2), _lane(numbers, 3)
    for k in range(LANES):
        least[k] = math.inf
        sign[k] = 1.0
    for column in range(rows):
        here = _lane(buffer, column * width + column)
        for k in range(LANES):
            best[k] = abs(here[k])
            place[k] = 0.0
        for i in range(column + 1, rows):
            lane, number = _lane(buffer, i * width + column), float(i)
            for k in range(LANES):
                size = abs(lane[k])
                is_larger = size > best[k]
                best[k] = size if is_larger else best[k]
                place[k] = number if is_larger else place[k]
        for k in range(LANES):
            least[k] = best[k] if best[k] < least[k] else least[k]
            sign[k] = -sign[k] if place[k] != 0.0 else sign[k]
        for i in range(column + 1, rows):
            number = float(i)
            for j in range(column, width):
                upper, lower = _lane(buffer, column * width + j), _lane(buffer, i * width + j)
                for k in range(LANES):
                    x, y, is_pivot = upper[k], lower[k], place[k] == number
                    above, below = y if is_pivot else x, x if is_pivot else y
                    upper[k], lower[k] = above, below
        for k in range(LANES):
            best[k] = 1.0 / here[k]
        for i in range(column + 1, rows):
            factor = _lane(buffer, i * width + column)
            for k in range(LANES):
                factor[k] *= best[k]
            for j in range(column + 1, width):
                upper, lower = _lane(buffer, column * width + j), _lane(buffer, i * width + j)
                for k in range(LANES):
                    lower[k] -= factor[k] * upper[k]


@inner
def _substitute(rows, width, buffer, numbers):  # type: ignore[no-untyped-def]
    """Replace the right-hand sides by the solutions."""
    inverse = _lane(numbers, 2)
    for column in range(rows - 1, -1, -1):
        here = _lane(buffer, column * width + column)
        for k in range(LANES):
            inverse[k] = 1.0 / here[k]
        for j in range(rows, width):
            solution = _lane(buffer, column * width + j)
            for k in range(LANES):
                solution[k] *= inverse[k]
            for i in range(column):
                factor, other = _lane(buffer, i * width + column), _lane(buffer, i * width + j)
                for k in range(LANES):
                    other[k] -= factor[k] * solution[k]


@inner
def _is_certain(least, most, low, high):  # type: ignore[no-untyped-def]
    return most > low and most < high and least > _NEGLIGIBLE * most


@inner
def _transposed(a, rows, columns, out):  # type: ignore[no-untyped-def]
    source, target = float64s(a), float64s(out)
    for i in range(rows):
        for j in range(columns):
            target[j * rows + i] = source[i * columns + j]


@inner
def _solve_one(gesv, n, columns, a, b, out, scratch):  # type: ignore[no-untyped-def]
    """Solve for one matrix by LAPACK, with the unit matrix on the right if ``b`` is 0."""
    numbers = scratch
    matrix, right = numbers + _SIZES_OF_LAPACK, numbers + _SIZES_OF_LAPACK + 8 * MOST_ROWS * MOST_ROWS
    set_int64(numbers, n)
    set_int64(numbers + 8, columns)
    set_int64(numbers + 16, 0)
    _transposed(a, n, n, matrix)
    if b:
        _transposed(b, n, columns, right)
    else:
        for k in range(n * n):
            float64s(right)[k] = 1.0 if k % (n + 1) == 0 else 0.0
    call8(gesv, (numbers, numbers + 8, matrix, numbers, numbers + 24, right, numbers, numbers + 16))
    _transposed(right, columns, n, out)
    return int32_at(numbers + 16) == 0


@inner
def _determinant_of_one(getrf, n, a, scratch):  # type: ignore[no-untyped-def]
    """Return the determinant of one matrix by LAPACK, by a sum of logarithms as NumPy does."""
    numbers, matrix = scratch, scratch + _SIZES_OF_LAPACK
    set_int64(numbers, n)
    set_int64(numbers + 16, 0)
    _transposed(a, n, n, matrix)
    call6(getrf, (numbers, numbers, matrix, numbers, numbers + 24, numbers + 16))
    if int32_at(numbers + 16) != 0:
        return 0.0
    sign, total = 1.0, 0.0
    is_wide = n > 1 and int32_at(numbers + 28) == 0  # pivots are of 64 bits, else this is the second one
    for k in range(n):
        element = float64s(matrix)[k * (n + 1)]
        pivot = int64_at(numbers + 24 + 8 * k) if is_wide else int32_at(numbers + 24 + 4 * k)
        sign = -sign if pivot != k + 1 else sign
        if element < 0:
            sign, element = -sign, -element
        total += math.log(element)
    return sign * math.exp(total)


@inner
def small_det(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """Determinants."""
    matrices, n = int64_at(parameters), int64_at(parameters + 8)
    if dtype != FLOAT64:
        return 0
    numbers, buffer = workspace + 8 * SCRATCH, workspace + 8 * SCRATCH + 5 * _BYTES
    for task in range(start, stop):
        first = task * LANES
        count = min(LANES, matrices - first)
        _load(x, n, n, n, 0, first, count, buffer)
        _find_largest(n, n, buffer, numbers + 4 * _BYTES)
        _eliminate(n, n, buffer, numbers)
        least, product, most = _lane(numbers, 0), _lane(numbers, 1), _lane(numbers, 4)
        for i in range(n):
            pivot = _lane(buffer, i * n + i)
            for k in range(LANES):
                product[k] *= pivot[k]
        for k in range(count):
            if _is_certain(least[k], most[k], _LOW_PIVOT, _HIGH_PIVOT):
                float64s(out)[first + k] = product[k]
            else:
                found = _determinant_of_one(blas, n, x + 8 * (first + k) * n * n, workspace)
                float64s(out)[first + k] = found
    return 1


@inner
def _solved(blas, n, columns, matrices, start, stop, a, b, workspace, out):  # type: ignore[no-untyped-def]
    numbers, buffer = workspace + 8 * SCRATCH, workspace + 8 * SCRATCH + 5 * _BYTES
    width, is_done = n + columns, 1
    for task in range(start, stop):
        first = task * LANES
        count = min(LANES, matrices - first)
        _load(a, n, n, width, 0, first, count, buffer)
        if b:
            _load(b, n, columns, width, n, first, count, buffer)
        else:
            _load(a, n, n, width, n, first, 0, buffer)
        _find_largest(n, width, buffer, numbers + 4 * _BYTES)
        _eliminate(n, width, buffer, numbers)
        _substitute(n, width, buffer, numbers)
        _store(out, n, columns, width, n, first, count, buffer)
        least, most = _lane(numbers, 0), _lane(numbers, 4)
        for k in range(count):
            if not _is_certain(least[k], most[k], _LOW, _HIGH):
                at = first + k
                right = b + 8 * at * n * columns if b else 0
                target = out + 8 * at * n * columns
                if not _solve_one(blas, n, columns, a + 8 * at * n * n, right, target, workspace):
                    is_done = 0
    return is_done


@inner
def small_inv(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """Inverses; 0 if a matrix is singular."""
    matrices, n = int64_at(parameters), int64_at(parameters + 8)
    if dtype != FLOAT64:
        return 0
    return _solved(blas, n, n, matrices, start, stop, x, 0, workspace, out)


@inner
def small_solve(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """Solutions for right-hand sides ``y``; 0 if a matrix is singular."""
    matrices, n, columns = int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    if dtype != FLOAT64:
        return 0
    return _solved(blas, n, columns, matrices, start, stop, x, y, workspace, out)


@inner
def _cholesky_of_one(potrf, n, is_upper, a, out, scratch):  # type: ignore[no-untyped-def]
    numbers, matrix = scratch, scratch + _SIZES_OF_LAPACK
    set_int64(numbers, n)
    set_int64(numbers + 8, 85 if is_upper else 76)  # "U", "L"
    set_int64(numbers + 16, 0)
    _transposed(a, n, n, matrix)
    call5(potrf, (numbers + 8, numbers, matrix, numbers, numbers + 16))
    factor = float64s(matrix)
    for i in range(n):
        for j in range(n):
            is_part = j >= i if is_upper else j <= i
            float64s(out)[i * n + j] = factor[j * n + i] if is_part else 0.0
    return int32_at(numbers + 16) == 0


@inner
def small_cholesky(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """Triangular factors; 0 if a matrix is not positive definite."""
    matrices, n, is_upper = int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    if dtype != FLOAT64:
        return 0
    numbers, buffer = workspace + 8 * SCRATCH, workspace + 8 * SCRATCH + 5 * _BYTES
    least, most, inverse = _lane(numbers, 0), _lane(numbers, 1), _lane(numbers, 2)
    down, right = (1, n) if is_upper else (n, 1)  # of the lower factor in the buffer
    is_done = 1
    for task in range(start, stop):
        first = task * LANES
        count = min(LANES, matrices - first)
        _load(x, n, n, n, 0, first, count, buffer)
        for k in range(LANES):
            least[k] = math.inf
            most[k] = 1.0
        for column in range(n):
            here = _lane(buffer, column * n + column)
            for k in range(LANES):
                inverse[k] = here[k]  # the pivot without rounding errors
            for j in range(column):
                factor = _lane(buffer, column * down + j * right)
                for k in range(LANES):
                    here[k] -= factor[k] * factor[k]
            for k in range(LANES):
                ratio = here[k] / inverse[k]
                ratio = ratio if inverse[k] > _LOW and inverse[k] < _HIGH else 0.0
                least[k] = least[k] if least[k] < ratio else ratio
                root = math.sqrt(here[k])
                here[k] = root
                inverse[k] = 1.0 / root
            for i in range(column + 1, n):
                below = _lane(buffer, i * down + column * right)
                for j in range(column):
                    one = _lane(buffer, i * down + j * right)
                    other = _lane(buffer, column * down + j * right)
                    for k in range(LANES):
                        below[k] -= one[k] * other[k]
                for k in range(LANES):
                    below[k] *= inverse[k]
            for j in range(column):
                above = _lane(buffer, j * down + column * right)
                for k in range(LANES):
                    above[k] = 0.0
        _store(out, n, n, n, 0, first, count, buffer)
        for k in range(count):
            if not _is_certain(least[k], most[k], _LOW, _HIGH):
                at = 8 * (first + k) * n * n
                if not _cholesky_of_one(blas, n, is_upper, x + at, out + at, workspace):
                    is_done = 0
    return is_done


KERNELS = {
    "small_det": small_det,
    "small_inv": small_inv,
    "small_solve": small_solve,
    "small_cholesky": small_cholesky,
}
"""The functions of `tape.kernels.small.KERNELS`."""
