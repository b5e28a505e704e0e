"""Convolution for compiled code: windows become columns of a matrix, image by image, and BLAS does the rest.

Three kernels as `tape.kernels.kernel` describes them, on one geometry of three spatial axes, the first of
which have length one where there are fewer. They are linear in both operands; the derivatives of each are the
others. `tape.kernels.convolution` has the same for plain arrays.
"""

from __future__ import annotations

from tape.kernels.codes import FLOAT64
from tape.kernels.columns import ROWS_WORTH_TURNING, parts_of
from tape.kernels.compiled import vectors
from tape.kernels.compiled._jit import inner
from tape.kernels.compiled.blas import BOTH_PLAIN, PLAIN, TURNED, gemm, set_scales
from tape.kernels.compiled.pointers import (
    float32s,
    float64s,
    int8s,
    int32s,
    int64_at,
    int64s,
)
from tape.kernels.compiled.windows import seeing
from tape.kernels.kernel import AXES, BLAS_ARGUMENTS

# ---- columns --------------------------------------------------------------------------------------------


@inner
def _is_unit(p):  # type: ignore[no-untyped-def]
    """Whether the columns of an image are the image: each window is one element, in order."""
    for axis in range(AXES):
        size, step, low = (
            int64_at(p + 8 * (AXES + axis)),
            int64_at(p + 8 * (3 * AXES + axis)),
            int64_at(p + 8 * (4 * AXES + axis)),
        )
        same = int64_at(p + 8 * axis) == int64_at(p + 8 * (2 * AXES + axis))
        if size != 1 or step != 1 or low != 0 or not same:
            return False
    return True


@inner
def _copy(itemsize, source, step, out, count):  # type: ignore[no-untyped-def]
    """Copy every ``step``-th element to contiguous memory, as integers; most rows are short."""
    size = count * itemsize
    if step == 1 and size >= vectors.VECTOR_BYTES:
        at = 0
        while at < size:
            at = min(at, size - vectors.VECTOR_BYTES)  # the last ones: some bytes are written twice
            vectors.store(int8s(out), at, vectors.load(int8s(source), at))
            at += vectors.VECTOR_BYTES
    elif itemsize == 8:
        for k in range(count):
            int64s(out)[k] = int64s(source)[k * step]
    else:
        for k in range(count):
            int32s(out)[k] = int32s(source)[k * step]


@inner
def _zeros(itemsize, out, count):  # type: ignore[no-untyped-def]
    if itemsize == 8:
        for k in range(count):
            int64s(out)[k] = 0
    else:
        for k in range(count):
            int32s(out)[k] = 0


@inner
def _is_flat(p):  # type: ignore[no-untyped-def]
    """Whether windows of a row, and of the next, are one element after the other: as many as there are."""
    return int64_at(p + 80) == 1 and int64_at(p + 88) == 1 and int64_at(p + 16) == int64_at(p + 64)


@inner
def _fill(p, itemsize, x, start, stop, columns):  # type: ignore[no-untyped-def]
    """Rows ``start`` to ``stop`` of the matrix of columns of the channels at ``x``.

    A row is what one position of the kernel sees of a channel: which elements that are is found out once for
    each position.
    """
    in0, in1, in2 = int64_at(p), int64_at(p + 8), int64_at(p + 16)
    kernel0, kernel1, kernel2 = int64_at(p + 24), int64_at(p + 32), int64_at(p + 40)
    out0, out1, out2 = int64_at(p + 48), int64_at(p + 56), int64_at(p + 64)
    step0, step1, step2 = int64_at(p + 72), int64_at(p + 80), int64_at(p + 88)
    is_flat, taps, size = _is_flat(p), kernel0 * kernel1 * kernel2, out0 * out1 * out2
    for k0 in range(kernel0):
        offset0 = k0 * int64_at(p + 120) - int64_at(p + 96)
        first0, stop0 = seeing(offset0, in0, step0, out0)
        for k1 in range(kernel1):
            offset1 = k1 * int64_at(p + 128) - int64_at(p + 104)
            first1, stop1 = seeing(offset1, in1, step1, out1)
            for k2 in range(kernel2):
                offset2 = k2 * int64_at(p + 136) - int64_at(p + 112)
                first2, stop2 = seeing(offset2, in2, step2, out2)
                rows, count = stop1 - first1, stop2 - first2
                is_whole = stop0 - first0 == out0 and rows == out1 and count == out2
                is_seen = rows > 0 and count > 0
                tap = (k0 * kernel1 + k1) * kernel2 + k2
                for channel in range((start - tap + taps - 1) // taps, (stop - tap + taps - 1) // taps):
                    target = columns + (channel * taps + tap - start) * size * itemsize
                    if not is_whole:
                        _zeros(itemsize, target, size)
                    for a in range(first0, stop0 if is_seen else first0):
                        i0, i1 = a * step0 + offset0, first1 * step1 + offset1
                        source = ((channel * in0 + i0) * in1 + i1) * in2 + first2 * step2 + offset2
                        source = x + source * itemsize
                        out = target + ((a * out1 + first1) * out2 + first2) * itemsize
                        if is_flat:  # also what lies between windows of two rows, which do not see it
                            _copy(itemsize, source, 1, out, (rows - 1) * out2 + count)
                            for b in range(rows - 1 if count < out2 else 0):
                                _zeros(itemsize, out + (b * out2 + count) * itemsize, out2 - count)
                            continue
                        for _ in range(rows):
                            _copy(itemsize, source, step2, out, count)
                            source += step1 * in2 * itemsize
                            out += out2 * itemsize


@inner
def _add_run(x, at, step, y, start, count):  # type: ignore[no-untyped-def]
    """Add ``count`` elements of ``y`` to every ``step``-th of ``x``."""
    width, done = vectors.lanes(x), 0
    if step == 1:
        while done + width <= count:
            total = vectors.add(vectors.load(x, at + done), vectors.load(y, start + done))
            vectors.store(x, at + done, total)
            done += width
    while done < count:
        x[at + done * step] += y[start + done]
        done += 1


@inner
def _add(p, columns, channels, x):  # type: ignore[no-untyped-def]
    """Add a matrix of columns to the elements that its windows see: the transpose of `_fill`.

    Where windows are one element after the other, what lies between those of two rows is overwritten.
    """
    in0, in1, in2 = int64_at(p), int64_at(p + 8), int64_at(p + 16)
    kernel0, kernel1, kernel2 = int64_at(p + 24), int64_at(p + 32), int64_at(p + 40)
    out0, out1, out2 = int64_at(p + 48), int64_at(p + 56), int64_at(p + 64)
    step0, step1, step2 = int64_at(p + 72), int64_at(p + 80), int64_at(p + 88)
    is_flat, taps = _is_flat(p), kernel0 * kernel1 * kernel2
    for k0 in range(kernel0):
        offset0 = k0 * int64_at(p + 120) - int64_at(p + 96)
        first0, stop0 = seeing(offset0, in0, step0, out0)
        for k1 in range(kernel1):
            offset1 = k1 * int64_at(p + 128) - int64_at(p + 104)
            first1, stop1 = seeing(offset1, in1, step1, out1)
            for k2 in range(kernel2):
                offset2 = k2 * int64_at(p + 136) - int64_at(p + 112)
                first2, stop2 = seeing(offset2, in2, step2, out2)
                rows, count = stop1 - first1, stop2 - first2
                tap = (k0 * kernel1 + k1) * kernel2 + k2
                for channel in range(channels if rows > 0 and count > 0 else 0):
                    for a in range(first0, stop0):
                        i0, i1 = a * step0 + offset0, first1 * step1 + offset1
                        at = ((channel * in0 + i0) * in1 + i1) * in2 + first2 * step2 + offset2
                        source = (((channel * taps + tap) * out0 + a) * out1 + first1) * out2 + first2
                        if is_flat:
                            for b in range(rows - 1 if count < out2 else 0):
                                for c in range(count, out2):
                                    columns[source + b * out2 + c] = 0
                            _add_run(x, at, 1, columns, source, (rows - 1) * out2 + count)
                            continue
                        for _ in range(rows):
                            _add_run(x, at, step2, columns, source, count)
                            at += step1 * in2
                            source += out2


# ---- products -------------------------------------------------------------------------------------------


@inner
def _sizes(dtype, parameters):  # type: ignore[no-untyped-def]
    """Bytes of an element, groups; elements of a group's channels and windows; kernels, rows and windows."""
    p = parameters + 32
    groups, channels, kernels = int64_at(parameters + 8), int64_at(parameters + 16), int64_at(parameters + 24)
    spatial = int64_at(p) * int64_at(p + 8) * int64_at(p + 16)
    rows = channels * int64_at(p + 24) * int64_at(p + 32) * int64_at(p + 40)
    windows = int64_at(p + 48) * int64_at(p + 56) * int64_at(p + 64)
    return 8 if dtype == FLOAT64 else 4, groups, channels * spatial, kernels, rows, windows


@inner
def conv(function, dtype, parameters, start, stop, x, w, _, workspace, out):  # type: ignore[no-untyped-def]
    """Images ``start`` to ``stop`` of the result; of ``x`` and ``w``, whose kernels are rows of a matrix."""
    itemsize, groups, image, kernels, rows, windows = _sizes(dtype, parameters)
    p, columns = parameters + 32, workspace + 8 * BLAS_ARGUMENTS
    is_unit = _is_unit(p)
    set_scales(itemsize, workspace, 1, 0)
    for k in range(start * groups, stop * groups):
        source, group = x + k * image * itemsize, k % groups
        if is_unit:
            columns = source
        else:
            _fill(p, itemsize, source, 0, rows, columns)
        gemm(
            function, workspace, BOTH_PLAIN, windows, kernels, rows, columns, windows,
            w + group * kernels * rows * itemsize, rows, out + k * kernels * windows * itemsize, windows,
            1,
        )  # fmt: skip
    return 1


@inner
def conv_input(function, dtype, parameters, start, stop, g, w, _, workspace, out):  # type: ignore[no-untyped-def]
    """Images ``start`` to ``stop`` of the adjoint of x, of the adjoint ``g`` of the result."""
    itemsize, groups, image, kernels, rows, windows = _sizes(dtype, parameters)
    p, columns = parameters + 32, workspace + 8 * BLAS_ARGUMENTS
    is_unit = _is_unit(p)
    set_scales(itemsize, workspace, 1, 0)
    for k in range(start * groups, stop * groups):
        target, group = out + k * image * itemsize, k % groups
        if is_unit:
            columns = target
        gemm(
            function, workspace, PLAIN | TURNED << 8, windows, rows, kernels,
            g + k * kernels * windows * itemsize, windows, w + group * kernels * rows * itemsize, rows,
            columns, windows, 1,
        )  # fmt: skip
        if is_unit:
            continue
        if dtype == FLOAT64:
            for i in range(image):
                float64s(target)[i] = 0
            _add(p, float64s(columns), int64_at(parameters + 16), float64s(target))
        else:
            for i in range(image):
                float32s(target)[i] = 0
            _add(p, float32s(columns), int64_at(parameters + 16), float32s(target))
    return 1


@inner
def _turn(itemsize, x, rows, columns, out):  # type: ignore[no-untyped-def]
    """Write the transpose of a matrix, as integers."""
    for i in range(rows):
        for j in range(columns):
            if itemsize == 8:
                int64s(out)[j * rows + i] = int64s(x)[i * columns + j]
            else:
                int32s(out)[j * rows + i] = int32s(x)[i * columns + j]


@inner
def conv_weight(function, dtype, parameters, start, stop, x, g, _, workspace, out):  # type: ignore[no-untyped-def]
    """Some columns of the adjoint of w, for all images: sums do not depend on how many threads there are.

    They are the transpose of a product without transposes, which BLAS has better kernels for.
    """
    itemsize, groups, image, kernels, rows, windows = _sizes(dtype, parameters)
    p, columns = parameters + 32, workspace + 8 * BLAS_ARGUMENTS
    turned = columns + itemsize * rows * windows
    total = turned + itemsize * kernels * windows
    parts = _parts(rows)
    is_unit = _is_unit(p)
    set_scales(itemsize, workspace, 1, 0)
    for task in range(start, stop):
        group, part = task // parts, task % parts
        first, last = part * rows // parts, (part + 1) * rows // parts
        target = out + (group * kernels * rows + first) * itemsize
        is_turned = last - first >= ROWS_WORTH_TURNING
        for image_number in range(int64_at(parameters)):
            k = image_number * groups + group
            source, of_windows = x + k * image * itemsize, g + k * kernels * windows * itemsize
            if is_unit:
                columns = source + first * windows * itemsize
            else:
                _fill(p, itemsize, source, first, last, columns)
            if is_turned:
                _turn(itemsize, of_windows, kernels, windows, turned)
                gemm(
                    function, workspace, BOTH_PLAIN, kernels, last - first, windows, turned,
                    kernels, columns, windows, total, kernels, 0 if image_number else 1,
                )  # fmt: skip
            else:
                gemm(
                    function, workspace, TURNED | PLAIN << 8, last - first, kernels, windows, columns,
                    windows, of_windows, windows, target, rows, 0 if image_number else 1,
                )  # fmt: skip
        for kernel in range(kernels if is_turned else 0):
            for row in range(last - first):
                if itemsize == 8:
                    int64s(target)[kernel * rows + row] = int64s(total)[row * kernels + kernel]
                else:
                    int32s(target)[kernel * rows + row] = int32s(total)[row * kernels + kernel]
    return 1


_parts = inner(parts_of)


KERNELS = {"conv": conv, "conv_input": conv_input, "conv_weight": conv_weight}
"""The functions of `tape.kernels.columns.KERNELS`."""
