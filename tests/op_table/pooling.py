"""Pooling: the largest element or the mean of windows."""

import numpy as np

from tests.op_table.case import Case, grid, real


def pool(name, *args, **options):
    return lambda ns, x: getattr(ns.nn, name)(x, *args, **options)


def unpool(name, shape, *args, **options):
    """Elements of a shape that go to every second place, round 7 places."""

    def function(ns, x):
        places = np.arange(np.prod(shape)).reshape(shape) * 2 % 7
        return getattr(ns.nn, name)(x, places, *args, **options)

    return function


CASES = [
    Case("nn.max_pool1d", pool("max_pool1d", 2), grid(2, 2, 5)),
    Case("nn.max_pool1d overlapping", pool("max_pool1d", 3, 1, 1), grid(2, 4)),
    Case("nn.max_pool1d no images", pool("max_pool1d", 2), grid(0, 2, 5)),
    Case("nn.max_pool2d", pool("max_pool2d", (2, 3), (2, 1), (1, 0)), grid(2, 1, 4, 5)),
    Case("nn.max_pool2d ceil", pool("max_pool2d", 2, ceil_mode=True), grid(1, 5, 3)),
    Case("nn.max_pool2d dilation", pool("max_pool2d", 2, 1, ((1, 0), (0, 1)), dilation=(2, 1)),
         grid(1, 1, 4, 3)),
    Case("nn.max_pool3d", pool("max_pool3d", 2, 1), grid(1, 2, 3, 2, 3)),
    Case("nn.max_unpool1d", unpool("max_unpool1d", (2, 2, 4), 2), real(2, 2, 4)),
    Case("nn.max_unpool1d meeting", unpool("max_unpool1d", (1, 8), 3, 1, 1), real(1, 8)),
    Case("nn.max_unpool2d", unpool("max_unpool2d", (1, 2, 2), (2, 3), (2, 1), (1, 0), output_size=(3, 4)),
         real(1, 2, 2)),
    Case("nn.max_unpool3d", unpool("max_unpool3d", (1, 1, 2, 1, 2), 2), real(1, 1, 2, 1, 2)),
    Case("nn.avg_pool1d", pool("avg_pool1d", 2), real(2, 2, 5)),
    Case("nn.avg_pool1d overlapping", pool("avg_pool1d", 3, 1, 1, count_include_pad=False), real(2, 4)),
    Case("nn.avg_pool2d", pool("avg_pool2d", (2, 3), (2, 1), (1, 0)), real(2, 1, 4, 5)),
    Case("nn.avg_pool2d ceil", pool("avg_pool2d", (3, 2), 2, (1, 0), ceil_mode=True), real(1, 4, 3)),
    Case("nn.avg_pool2d divisor", pool("avg_pool2d", 2, divisor_override=3), real(1, 1, 3, 4)),
    Case("nn.avg_pool3d", pool("avg_pool3d", 2, 1), real(1, 2, 3, 2, 3)),
    *(Case(f"nn.adaptive_{kind}_pool1d", pool(f"adaptive_{kind}_pool1d", 2), domain(2, 2, 4))
      for kind, domain in (("avg", real), ("max", grid))),
    *(Case(f"nn.adaptive_{kind}_pool2d", pool(f"adaptive_{kind}_pool2d", (2, None)), domain(2, 5, 2))
      for kind, domain in (("avg", real), ("max", grid))),
    *(Case(f"nn.adaptive_{kind}_pool3d", pool(f"adaptive_{kind}_pool3d", (1, 3, 2)), domain(1, 1, 2, 2, 4))
      for kind, domain in (("avg", real), ("max", grid))),
]  # fmt: skip
