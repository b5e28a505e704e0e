"""Convolutions, transposed ones, and the matrices of windows they are products with."""

from tests.op_table.case import Case, complexes, real


def conv(rank, *, transposed=False, **options):
    name = f"conv{'_transpose' if transposed else ''}{rank}d"
    return lambda ns, *args: getattr(ns.nn, name)(*args, **options)


def transposed(rank, **options):
    return conv(rank, transposed=True, **options)


CASES = [
    Case("nn.conv1d", conv(1), real(2, 2, 4), real(3, 2, 2), real(3)),
    Case("nn.conv1d no batch", conv(1, padding=((2, 0),)), real(1, 3), real(2, 1, 3)),
    Case("nn.conv1d same", conv(1, padding="same", dilation=3), real(1, 1, 4), real(1, 1, 2)),
    Case("nn.conv1d no images", conv(1), real(0, 2, 4), real(3, 2, 2), real(3)),
    Case("nn.conv1d complex", conv(1), complexes(1, 2, 3), complexes(2, 2, 2)),
    Case("nn.conv2d", conv(2, stride=(2, 1), padding=(1, 0)), real(1, 2, 4, 3), real(2, 2, 3, 2), real(2)),
    Case("nn.conv2d 1x1", conv(2), real(2, 3, 2, 2), real(2, 3, 1, 1)),
    Case("nn.conv2d groups", conv(2, groups=2, dilation=(1, 2)), real(1, 4, 3, 4), real(4, 2, 2, 2)),
    Case("nn.conv2d left over", conv(2, stride=3), real(1, 1, 6, 4), real(1, 1, 2, 2)),
    Case("nn.conv3d", conv(3, padding=1, stride=2), real(1, 1, 2, 3, 2), real(2, 1, 2, 1, 2), real(2)),
    Case("nn.conv_transpose1d", transposed(1), real(2, 2, 2), real(2, 3, 2), real(3)),
    Case("nn.conv_transpose1d longer", transposed(1, stride=2, padding=1, output_padding=1, groups=2),
         real(2, 3), real(2, 2, 3)),
    Case("nn.conv_transpose1d zeros at the end", transposed(1, dilation=3, output_padding=2),
         real(1, 1, 2), real(1, 1, 2), real(1)),
    Case("nn.conv_transpose2d", transposed(2, stride=(2, 1), padding=((1, 0), (0, 1)), dilation=(1, 2)),
         real(2, 2, 2, 2), real(2, 1, 2, 2), real(1)),
    Case("nn.conv_transpose3d", transposed(3, padding=(0, 1, 0)), real(1, 2, 2, 2, 1), real(2, 1, 1, 2, 2),
         real(1)),
    Case("nn.unfold", lambda ns, x: ns.nn.unfold(x, (2, 1), padding=((1, 0), (0, 1)), stride=2),
         real(2, 2, 3, 3)),
    Case("nn.unfold dilation", lambda ns, x: ns.nn.unfold(x, 2, dilation=(1, 2)), real(1, 3, 3)),
    Case("nn.fold", lambda ns, x: ns.nn.fold(x, (2, 3), 2, padding=((0, 0), (1, 0))), real(2, 4, 3)),
    Case("nn.fold left over", lambda ns, x: ns.nn.fold(x, (3, 4), 2, stride=2), real(4, 2)),
]  # fmt: skip
