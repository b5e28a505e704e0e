"""Batch and instance normalisation, and running statistics."""

from tests.op_table.case import Case, positive, real

CASES = [
    Case("nn.instance_norm", lambda ns, x: ns.nn.instance_norm(x, eps=0.1), real(2, 3, 4)),
    Case("nn.instance_norm affine", lambda ns, x, w, b: ns.nn.instance_norm(x, w, b, 0.1),
         real(2, 3, 2, 2), real(3), real(3)),
    Case("nn.batch_norm training", lambda ns, x: ns.nn.batch_norm(x, training=True), real(5, 2)),
    Case("nn.batch_norm affine", lambda ns, x, w, b: ns.nn.batch_norm(x, None, None, w, b, True, 0.01),
         real(3, 2, 2, 2), real(2), real(2)),
    Case("nn.batch_norm running", lambda ns, x, mean, var: ns.nn.batch_norm(x, mean, var, eps=0.1),
         real(2, 3), real(3), positive(3)),
    Case("nn.batch_norm running affine", lambda ns, *args: ns.nn.batch_norm(*args),
         real(2, 3, 2), real(3), positive(3), real(3), real(3)),
    Case("nn.batch_norm empty", lambda ns, x: ns.nn.batch_norm(x, training=True), real(0, 3)),
    Case("nn.batch_norm_statistics mean", lambda ns, *args: ns.nn.batch_norm_statistics(*args)[0],
         real(3, 2, 2), real(2), positive(2)),
    Case("nn.batch_norm_statistics variance", lambda ns, *args: ns.nn.batch_norm_statistics(*args, 0.3)[1],
         real(3, 2, 2), real(2), positive(2)),
]  # fmt: skip
