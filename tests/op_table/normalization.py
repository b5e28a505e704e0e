"""Layer, group and other normalisations."""

from tests.op_table.case import Case, complexes, positive, real, upper

CASES = [
    Case("nn.layer_norm", lambda ns, x: ns.nn.layer_norm(x, 4), real(2, 3, 4)),
    Case("nn.layer_norm affine", lambda ns, x, w, b: ns.nn.layer_norm(x, (3, 4), w, b, eps=0.01),
         real(2, 3, 4), real(3, 4), real(3, 4)),
    Case("nn.layer_norm empty", lambda ns, x: ns.nn.layer_norm(x, 3), real(0, 3)),
    Case("nn.layer_norm of nothing", lambda ns, x: ns.nn.layer_norm(x, 0), real(3, 0)),
    Case("nn.rms_norm", lambda ns, x: ns.nn.rms_norm(x, (3, 4), eps=0.01), real(2, 3, 4)),
    Case("nn.rms_norm scaled", lambda ns, x, w: ns.nn.rms_norm(x, [3], w), positive(2, 3), real(3)),
    Case("nn.rms_norm complex", lambda ns, x, w: ns.nn.rms_norm(x, 3, w, eps=0.01),
         upper(2, 3), complexes(3)),
    Case("nn.group_norm", lambda ns, x: ns.nn.group_norm(x, 2, eps=0.1), real(2, 6)),
    Case("nn.group_norm affine", lambda ns, x, w, b: ns.nn.group_norm(x, 3, w, b, eps=0.1),
         real(2, 6, 2, 2), real(6), real(6)),
    Case("nn.normalize", lambda ns, x: ns.nn.normalize(x), positive(2, 3)),
    Case("nn.normalize p=1", lambda ns, x: ns.nn.normalize(x, p=1, axis=-1), positive(2, 3)),
    Case("nn.normalize short", lambda ns, x: ns.nn.normalize(x, axis=0, eps=10.0), positive(3)),
    Case("nn.local_response_norm", lambda ns, x: ns.nn.local_response_norm(x, 3, alpha=0.5), real(2, 4, 2)),
    Case("nn.local_response_norm even", lambda ns, x: ns.nn.local_response_norm(x, 2, 0.5, 0.5, 2.0),
         real(1, 3, 2, 1)),
]  # fmt: skip
