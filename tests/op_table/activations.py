"""Activations, smooth ones and those in pieces."""

from tests.op_table.case import Case, _domain, call, complexes, grid, joined, nonzero, positive, real, upper

unit = _domain(lambda rng, s: rng.uniform(0.05, 0.95, s))
away = _domain(
    lambda rng, s: rng.choice([-4.5, -2.0, -0.75, -0.2, 0.25, 0.7, 1.5, 4.0, 7.0], s)
)  # from kinks

SMOOTH = ("gelu", "silu", "mish", "logsigmoid", "tanhshrink", "softsign")
KINKED = ("elu", "selu", "celu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "hardshrink", "softshrink")


def nn(op: str, *given, **options):
    return lambda ns, *args: call(op, **options)(ns.nn, *args, *given)


CASES = [
    *(Case(f"nn.{op} {joined([s])}", nn(op), real(*s)) for op in SMOOTH[:-1] for s in ((), (2, 3), (0, 3))),
    *(Case(f"nn.{op} {joined([s])}", nn(op), away(*s))
      for op in (SMOOTH[-1], *KINKED, "leaky_relu") for s in ((), (2, 3), (0, 3))),
    *(Case(f"nn.{op} complex {joined([s])}", nn(op), upper(*s)) for op in ("silu", "softsign")
      for s in ((), (2, 3), (0, 3))),
    Case("nn.silu complex falling", nn("silu"), complexes(2, 3)),
    Case("nn.glu complex", nn("glu"), complexes(2, 4)),
    Case("nn.gelu tanh", nn("gelu", "tanh"), real(2, 3)),
    Case("nn.elu alpha", nn("elu", 0.5), away(3)),
    Case("nn.celu alpha", nn("celu", 0.5), away(3)),
    Case("nn.leaky_relu slope", nn("leaky_relu"), away(2, 3), real()),
    Case("nn.hardtanh bounds", nn("hardtanh", -2.5, 3.0), away(3)),
    Case("nn.hardshrink lambd", nn("hardshrink", 1.0), away(3)),
    Case("nn.softshrink lambd", nn("softshrink", 1.0), away(3)),
    Case("nn.threshold ()", nn("threshold", 0.5, -3.0), away()),
    Case("nn.threshold (2,3)", nn("threshold", 0.5, -3.0), away(2, 3)),
    Case("nn.threshold (0,3)", nn("threshold", 0.5, -3.0), away(0, 3)),
    Case("nn.prelu one", nn("prelu"), grid(2, 3), real(1)),
    Case("nn.prelu channels", nn("prelu"), grid(2, 3, 2), real(3)),
    Case("nn.prelu empty", nn("prelu"), nonzero(0, 3), real(3)),
    Case("nn.glu", nn("glu"), real(2, 4)),
    Case("nn.glu axis=0", nn("glu", 0), real(4, 3)),
    Case("nn.glu empty", nn("glu"), real(0, 2)),
    Case("nn.softplus", nn("softplus"), real(2, 3)),
    Case("nn.softplus beta", nn("softplus", 2.5), real(2, 3)),
    Case("nn.softplus threshold", nn("softplus", 2.0, 3.0), away(2, 3)),
    Case("nn.logit", nn("logit"), unit(2, 3)),
    Case("nn.logit eps", nn("logit", 0.3), unit(2, 3)),
    Case("nn.softmin", nn("softmin"), real(2, 3)),
    Case("nn.softmin axis=0", nn("softmin", 0), real(2, 3)),
    Case("nn.rrelu", nn("rrelu"), away(2, 3)),
    Case("nn.rrelu slopes", lambda ns, x, slopes: ns.nn.rrelu(x, 0.2, 0.6, slopes), away(2, 3), real(3)),
    Case("nn.gumbel_softmax", nn("gumbel_softmax"), real(2, 3), real(2, 3)),
    Case("nn.gumbel_softmax temperatures", nn("gumbel_softmax"), real(2, 3), real(2, 3), positive(2, 1)),
    Case("nn.gumbel_softmax tau", nn("gumbel_softmax", 0.5, axis=0), real(2, 3), real(2, 1)),
]  # fmt: skip
