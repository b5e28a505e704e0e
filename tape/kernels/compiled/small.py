"""Stacks of small matrices for compiled code: determinants, inverses, solutions and Cholesky factors.

LAPACK takes a fraction of a microsecond for a matrix, however small. Here the same elimination, with the same
choice of pivots, runs on 16 matrices at once, of which a vector has the same element of four. Where rounding
might decide whether there is a result, or numbers are very large or small, a matrix is left to LAPACK: so the
same ones are singular.
"""

from __future__ import annotations

import math

from tape.kernels.codes import FLOAT64
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.pointers import (
    call5,
    call6,
    call8,
    float64s,
    int32_at,
    int64_at,
    prefetch_to_read,
    prefetch_to_write,
    set_int64,
)
from tape.kernels.compiled.vectors import (
    any_equal,
    divide,
    even,
    first_halves,
    larger,
    last_halves,
    load,
    magnitude,
    multiply,
    odd,
    root,
    spread,
    store,
    subtract,
    where_equal,
    where_greater,
)
from tape.kernels.small import LANES, MOST_ROWS, NUMBERS, SCRATCH

_BYTES = 8 * LANES


_NEGLIGIBLE = 1e-13  # of the largest element: a smaller pivot may be 0 in another order of rounding


_LOW, _HIGH = 1e-290, 1e290  # no reciprocal overflows between them


_LOW_PIVOT, _HIGH_PIVOT = 1e-20, 1e30  # nor a product of eight pivots


_SIZES_OF_LAPACK = 8 * (3 + MOST_ROWS + 5)


@inner
def _lane(address, number):  # type: ignore[no-untyped-def]
    return float64s(address + number * _BYTES)


@inner
def _place(buffer, i, j, width):  # type: ignore[no-untyped-def]
    """Return where element i, j of all matrices is. Rows are an odd number of these apart, never 4 KB."""
    return buffer + (i * (width | 1) + j) * _BYTES


@inner
def _element(buffer, i, j, width):  # type: ignore[no-untyped-def]
    return float64s(_place(buffer, i, j, width))


@inner
def _turned(x, y, z, w):  # type: ignore[no-untyped-def]
    """Return the columns of four vectors."""
    left, right = even(x, y), even(z, w)
    others, last = odd(x, y), odd(z, w)
    return (
        first_halves(left, right), first_halves(others, last),
        last_halves(left, right), last_halves(others, last),
    )  # fmt: skip


@inner
def _load(a, rows, columns, width, at, first, count, buffer):  # type: ignore[no-untyped-def]
    """Bring some matrices to columns ``at`` of the buffer, whose other lanes are parts of unit matrices.

    Processors do not foresee how memory is read here, nor written: the next ones are asked for.
    """
    size, of_four = rows * columns, columns // 4 * 4
    for k in range(0, count - 3, 4):  # four matrices at a time, from their first element to the last one
        source = float64s(a + 8 * (first + k) * size)
        for line in range(0, 32 * size, 64):
            prefetch_to_read(a + 8 * (first + k + LANES) * size + line)
        for i in range(rows):
            row = _element(buffer, i, at, width)
            for j in range(0, of_four, 4):
                at_source, at_row = i * columns + j, j * LANES + k
                x, y, z, w = _turned(
                    load(source, at_source), load(source, at_source + size),
                    load(source, at_source + 2 * size), load(source, at_source + 3 * size),
                )  # fmt: skip
                store(row, at_row, x)
                store(row, at_row + LANES, y)
                store(row, at_row + 2 * LANES, z)
                store(row, at_row + 3 * LANES, w)
            for j in range(of_four, columns):
                for lane in range(4):
                    row[j * LANES + k + lane] = source[lane * size + i * columns + j]
    for k in range(count // 4 * 4, LANES):
        source = float64s(a + 8 * (first + k) * size)
        for i in range(rows):
            row = _element(buffer, i, at, width)
            for j in range(columns):
                unit = 1.0 if i == j else 0.0
                row[j * LANES + k] = source[i * columns + j] if k < count else unit


@inner
def _store(out, rows, columns, width, at, first, count, buffer):  # type: ignore[no-untyped-def]
    """Take matrices out of columns ``at`` of the buffer."""
    size, of_four = rows * columns, columns // 4 * 4
    for k in range(0, count - 3, 4):
        target = float64s(out + 8 * (first + k) * size)
        for line in range(0, 32 * size, 64):
            prefetch_to_write(out + 8 * (first + k + LANES) * size + line)
        for i in range(rows):
            row = _element(buffer, i, at, width)
            for j in range(0, of_four, 4):
                at_target, at_row = i * columns + j, j * LANES + k
                x, y, z, w = _turned(
                    load(row, at_row), load(row, at_row + LANES),
                    load(row, at_row + 2 * LANES), load(row, at_row + 3 * LANES),
                )  # fmt: skip
                store(target, at_target, x)
                store(target, at_target + size, y)
                store(target, at_target + 2 * size, z)
                store(target, at_target + 3 * size, w)
            for j in range(of_four, columns):
                for lane in range(4):
                    target[lane * size + i * columns + j] = row[j * LANES + k + lane]
    for k in range(count // 4 * 4, count):
        target = float64s(out + 8 * (first + k) * size)
        for i in range(rows):
            row = _element(buffer, i, at, width)
            for j in range(columns):
                target[i * columns + j] = row[j * LANES + k]


@inner
def _find_largest(rows, width, buffer, largest):  # type: ignore[no-untyped-def]
    """Find the largest absolute value in each matrix; NaN if there is one."""
    most = float64s(largest)
    for k in range(0, LANES, 4):
        found = spread(0.0)
        for i in range(rows):
            for j in range(rows):
                found = larger(found, magnitude(load(_element(buffer, i, j, width), k)))
        store(most, k, found)


@inner
def _find_pivots(rows, width, buffer, column, numbers, places):  # type: ignore[no-untyped-def]
    """Find the rows of the largest elements of a column: where one is to be exchanged, else 0."""
    here = _element(buffer, column, column, width)
    for k in range(0, LANES, 4):
        best, place = magnitude(load(here, k)), spread(0.0)
        for i in range(column + 1, rows):
            size, number = magnitude(load(_element(buffer, i, column, width), k)), spread(float(i))
            place = where_greater(size, best, number, place)
            best = where_greater(size, best, size, best)
        least, sign = load(_lane(numbers, 0), k), load(_lane(numbers, 1), k)
        store(_lane(numbers, 0), k, where_greater(least, best, best, least))
        store(_lane(numbers, 1), k, where_equal(place, spread(0.0), sign, subtract(spread(0.0), sign)))
        store(places, k, place)


@inner
def _exchange(k, places, number, one, other, step, count):  # type: ignore[no-untyped-def]
    """Exchange two rows or columns in the matrices whose pivot has this number."""
    place, wanted = load(places, k), spread(float(number))
    if any_equal(place, wanted):
        for _ in range(count):
            upper, lower = float64s(one), float64s(other)
            x, y = load(upper, k), load(lower, k)
            store(upper, k, where_equal(place, wanted, y, x))
            store(lower, k, where_equal(place, wanted, x, y))
            one += step
            other += step


@inner
def _exchange_rows(rows, width, buffer, column, start, places):  # type: ignore[no-untyped-def]
    """Exchange this row with those that have the pivots, from column ``start`` on."""
    one = _place(buffer, column, start, width)
    for i in range(column + 1, rows):
        for k in range(0, LANES, 4):
            _exchange(k, places, i, one, _place(buffer, i, start, width), _BYTES, width - start)


@inner
def _begin(numbers):  # type: ignore[no-untyped-def]
    """Set the least pivots, and the signs."""
    for k in range(LANES):
        _lane(numbers, 0)[k] = math.inf
        _lane(numbers, 1)[k] = 1.0


@inner
def _eliminate(rows, width, buffer, numbers):  # type: ignore[no-untyped-def]
    """Factorize with partial pivoting, right-hand sides included.

    The numbers are, for all lanes: the least pivot, the sign of the permutation, the largest element, and
    the row of a pivot and its inverse, to work with.
    """
    places, inverses = _lane(numbers, 3), _lane(numbers, 4)
    _begin(numbers)
    for column in range(rows):
        _find_pivots(rows, width, buffer, column, numbers, places)
        _exchange_rows(rows, width, buffer, column, column, places)
        here = _element(buffer, column, column, width)
        for k in range(0, LANES, 4):
            store(inverses, k, divide(spread(1.0), load(here, k)))
        for i in range(column + 1, rows):
            below = _element(buffer, i, column, width)
            for k in range(0, LANES, 4):
                factor = multiply(load(below, k), load(inverses, k))
                store(below, k, factor)
                for j in range(column + 1, width):
                    upper, lower = _element(buffer, column, j, width), _element(buffer, i, j, width)
                    store(lower, k, subtract(load(lower, k), multiply(factor, load(upper, k))))


@inner
def _substitute(rows, width, buffer):  # type: ignore[no-untyped-def]
    """Replace the right-hand sides by the solutions."""
    for column in range(rows - 1, -1, -1):
        here = _element(buffer, column, column, width)
        for k in range(0, LANES, 4):
            inverse = divide(spread(1.0), load(here, k))
            for j in range(rows, width):
                solution = _element(buffer, column, j, width)
                store(solution, k, multiply(load(solution, k), inverse))
        for i in range(column):
            above = _element(buffer, i, column, width)
            for k in range(0, LANES, 4):
                factor = load(above, k)
                for j in range(rows, width):
                    solution, other = _element(buffer, column, j, width), _element(buffer, i, j, width)
                    store(other, k, subtract(load(other, k), multiply(factor, load(solution, k))))


@inner
def _invert(rows, buffer, numbers):  # type: ignore[no-untyped-def]
    """Replace matrices by their inverses: by Gauss and Jordan, in place, with partial pivoting.

    The numbers are those of `_eliminate`, with a row of pivots for each column from the fourth on.
    """
    _begin(numbers)
    for column in range(rows):
        places = _lane(numbers, 3 + column)
        _find_pivots(rows, rows, buffer, column, numbers, places)
        _exchange_rows(rows, rows, buffer, column, 0, places)
        here = _element(buffer, column, column, rows)
        for k in range(0, LANES, 4):
            inverse = divide(spread(1.0), load(here, k))
            store(here, k, spread(1.0))
            for j in range(rows):
                mine = _element(buffer, column, j, rows)
                store(mine, k, multiply(load(mine, k), inverse))
        for i in range(rows):
            if i != column:
                other = _element(buffer, i, column, rows)
                for k in range(0, LANES, 4):
                    factor = load(other, k)
                    store(other, k, spread(0.0))
                    for j in range(rows):
                        mine, its = _element(buffer, column, j, rows), _element(buffer, i, j, rows)
                        store(its, k, subtract(load(its, k), multiply(factor, load(mine, k))))
    step = _place(0, 1, 0, rows)
    for column in range(rows - 2, -1, -1):
        one = _place(buffer, 0, column, rows)
        for i in range(column + 1, rows):
            for k in range(0, LANES, 4):
                _exchange(k, _lane(numbers, 3 + column), i, one, _place(buffer, 0, i, rows), step, rows)


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
    numbers, buffer = workspace + 8 * SCRATCH, workspace + 8 * SCRATCH + NUMBERS * _BYTES
    for task in range(start, stop):
        first = task * LANES
        count = min(LANES, matrices - first)
        _load(x, n, n, n, 0, first, count, buffer)
        _find_largest(n, n, buffer, numbers + 2 * _BYTES)
        _eliminate(n, n, buffer, numbers)
        least, product, most = _lane(numbers, 0), _lane(numbers, 1), _lane(numbers, 2)
        for i in range(n):
            pivot = _element(buffer, i, i, n)
            for k in range(0, LANES, 4):
                store(product, k, multiply(load(product, k), load(pivot, k)))
        for k in range(count):
            if _is_certain(least[k], most[k], _LOW_PIVOT, _HIGH_PIVOT):
                float64s(out)[first + k] = product[k]
            else:
                found = _determinant_of_one(blas, n, x + 8 * (first + k) * n * n, workspace)
                float64s(out)[first + k] = found
    return 1


@inner
def _solved_by_lapack(gesv, n, columns, first, count, a, b, numbers, workspace, out):  # type: ignore[no-untyped-def]
    """Solve for those matrices once more for which rounding might decide; 0 if one is singular."""
    least, most = _lane(numbers, 0), _lane(numbers, 2)
    is_done = 1
    for k in range(count):
        if not _is_certain(least[k], most[k], _LOW, _HIGH):
            at = first + k
            right = b + 8 * at * n * columns if b else 0
            target = out + 8 * at * n * columns
            if not _solve_one(gesv, n, columns, a + 8 * at * n * n, right, target, workspace):
                is_done = 0
    return is_done


@inner
def small_inv(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """Inverses; 0 if a matrix is singular."""
    matrices, n = int64_at(parameters), int64_at(parameters + 8)
    if dtype != FLOAT64:
        return 0
    numbers, buffer = workspace + 8 * SCRATCH, workspace + 8 * SCRATCH + NUMBERS * _BYTES
    is_done = 1
    for task in range(start, stop):
        first = task * LANES
        count = min(LANES, matrices - first)
        _load(x, n, n, n, 0, first, count, buffer)
        _find_largest(n, n, buffer, numbers + 2 * _BYTES)
        _invert(n, buffer, numbers)
        _store(out, n, n, n, 0, first, count, buffer)
        is_done &= _solved_by_lapack(blas, n, n, first, count, x, 0, numbers, workspace, out)
    return is_done


@inner
def small_solve(blas, dtype, parameters, start, stop, x, y, z, workspace, out):  # type: ignore[no-untyped-def]
    """Solutions for right-hand sides ``y``; 0 if a matrix is singular."""
    matrices, n, columns = int64_at(parameters), int64_at(parameters + 8), int64_at(parameters + 16)
    if dtype != FLOAT64:
        return 0
    numbers, buffer = workspace + 8 * SCRATCH, workspace + 8 * SCRATCH + NUMBERS * _BYTES
    width, is_done = n + columns, 1
    for task in range(start, stop):
        first = task * LANES
        count = min(LANES, matrices - first)
        _load(x, n, n, width, 0, first, count, buffer)
        _load(y, n, columns, width, n, first, count, buffer)
        _find_largest(n, width, buffer, numbers + 2 * _BYTES)
        _eliminate(n, width, buffer, numbers)
        _substitute(n, width, buffer)
        _store(out, n, columns, width, n, first, count, buffer)
        is_done &= _solved_by_lapack(blas, n, columns, first, count, x, y, numbers, workspace, out)
    return is_done


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
    numbers, buffer = workspace + 8 * SCRATCH, workspace + 8 * SCRATCH + NUMBERS * _BYTES
    are_certain, inverses = _lane(numbers, 0), _lane(numbers, 1)
    down, right = (1, n | 1) if is_upper else (n | 1, 1)  # of the lower factor in the buffer
    is_done = 1
    for task in range(start, stop):
        first = task * LANES
        count = min(LANES, matrices - first)
        _load(x, n, n, n, 0, first, count, buffer)
        for k in range(LANES):
            are_certain[k] = 1.0
        for column in range(n):
            here = _lane(buffer, column * (down + right))
            for k in range(0, LANES, 4):
                given = load(here, k)  # the pivot without rounding errors
                left = given
                for j in range(column):
                    factor = load(_lane(buffer, column * down + j * right), k)
                    left = subtract(left, multiply(factor, factor))
                is_certain = where_greater(
                    left, multiply(given, spread(_NEGLIGIBLE)), load(are_certain, k), spread(0.0)
                )
                is_certain = where_greater(given, spread(_LOW), is_certain, spread(0.0))
                store(are_certain, k, where_greater(spread(_HIGH), given, is_certain, spread(0.0)))
                left = root(left)
                store(here, k, left)
                store(inverses, k, divide(spread(1.0), left))
            for i in range(column + 1, n):
                below = _lane(buffer, i * down + column * right)
                for k in range(0, LANES, 4):
                    left = load(below, k)
                    for j in range(column):
                        one = _lane(buffer, i * down + j * right)
                        other = _lane(buffer, column * down + j * right)
                        left = subtract(left, multiply(load(one, k), load(other, k)))
                    store(below, k, multiply(left, load(inverses, k)))
            for j in range(column):
                above = _lane(buffer, j * down + column * right)
                for k in range(0, LANES, 4):
                    store(above, k, spread(0.0))
        _store(out, n, n, n, 0, first, count, buffer)
        for k in range(count):
            if are_certain[k] == 0.0:
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
