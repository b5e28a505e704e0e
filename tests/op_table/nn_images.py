"""Images: padding, pixels and channels, other points, p-norms of windows."""

import numpy as np

from tests.op_table.case import Case, _domain, positive, real

anywhere = _domain(
    lambda rng, s: rng.choice([-1.6, -0.33, 0.33, 1.6], s)
)  # off the middles and ends of three pixels


def nn(op, *given, **options):
    return lambda ns, *args: getattr(ns.nn, op)(*args, *given, **options)


def told(shape):
    return str(shape).replace(" ", "")


CASES = [
    Case("nn.pad", nn("pad", (1, 2)), real(2, 3)),
    Case("nn.pad cut", nn("pad", (1, -1, -1, 0)), real(2, 3, 4)),
    Case("nn.pad value", nn("pad", (0, 1, 2, 0), "constant", 3.0), real(2, 2)),
    *(Case(f"nn.pad {mode}", nn("pad", (2, 1, 1, 0), mode), real(2, 3, 4))
      for mode in ("reflect", "replicate", "circular")),
    Case("nn.pixel_shuffle", nn("pixel_shuffle", 2), real(2, 8, 1, 3)),
    Case("nn.pixel_unshuffle", nn("pixel_unshuffle", 2), real(2, 4, 2)),
    Case("nn.channel_shuffle", nn("channel_shuffle", 3), real(2, 6, 2)),
    *(Case(f"nn.interpolate {mode} {told(size)}", nn("interpolate", size, mode=mode), real(1, 2, *shape))
      for mode, shape, size in (
          ("nearest", (3, 4), (5, 2)), ("nearest-exact", (5,), 3), ("linear", (4,), 7), ("linear", (5,), 2),
          ("bilinear", (3, 4), (5, 2)), ("bicubic", (4, 3), (3, 6)), ("trilinear", (2, 3, 2), 3),
          ("area", (5, 4), (2, 2)), ("linear", (1,), 3),
      )),
    Case("nn.interpolate corners", nn("interpolate", (5, 2), mode="bilinear", align_corners=True),
         real(1, 2, 3, 4)),
    Case("nn.interpolate cubic corners", nn("interpolate", (5, 1), mode="bicubic", align_corners=True),
         real(1, 1, 3, 4)),
    Case("nn.interpolate factors", nn("interpolate", scale_factor=(1.6, 0.7), mode="bilinear"),
         real(2, 1, 3, 4)),
    Case("nn.interpolate factor", nn("interpolate", scale_factor=2.5), real(2, 1, 3)),
    *(Case(f"nn.affine_grid {told(size)} {corners}", nn("affine_grid", size, corners), real(2, *theta))
      for corners in (True, False) for size, theta in (((2, 1, 2, 3), (2, 3)), ((2, 1, 2, 1, 2), (3, 4)))),
    *(Case(f"nn.grid_sample {mode} {padding} {corners}",
           nn("grid_sample", mode=mode, padding_mode=padding, align_corners=corners),
           real(1, 2, 3, 3), anywhere(1, 2, 2, 2))
      for mode, padding, corners in (
          ("bilinear", "zeros", False), ("bilinear", "border", True), ("bilinear", "reflection", False),
          ("bilinear", "reflection", True), ("bicubic", "zeros", False), ("bicubic", "border", False),
          ("bicubic", "reflection", True),
      )),
    Case("nn.grid_sample nearest", lambda ns, x: ns.nn.grid_sample(x, np.full((1, 1, 1, 2), 0.3), "nearest"),
         real(1, 2, 3, 4)),
    Case("nn.grid_sample volumes", nn("grid_sample"), real(1, 1, 3, 3, 3), anywhere(1, 1, 1, 2, 3)),
    Case("nn.lp_pool1d", nn("lp_pool1d", 3, 2), positive(2, 2, 5)),
    Case("nn.lp_pool2d", nn("lp_pool2d", 2, (2, 3), 1), positive(1, 3, 4)),
    Case("nn.lp_pool2d ceil", nn("lp_pool2d", 1.5, 2, ceil_mode=True), positive(1, 1, 3, 3)),
    Case("nn.lp_pool3d", nn("lp_pool3d", 2, 2, 1), positive(1, 1, 2, 3, 2)),
]  # fmt: skip
