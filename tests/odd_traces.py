"""Traces that are hard to show: names, attributes, scopes and values that no format expects."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

import tape
from tape.core.op import Op
from tape.core.sites import name_scope

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=8),
    st.sampled_from(
        [
            '"',
            "\\",
            'end\\"',
            "\\N\\G",
            "<B>",
            "</svg>",
            "]]>",
            "]",
            "&amp;",
            "&#0;",
            "&",
            "{|}",
            "a\nb\tc\r",
            "\x00\x1b",
            "‮",
            "\ud800",
            "￾",
            "名前" * 30,
            "x" * 300,
            "// c",
            "/*",
            " ",
        ]
    ),
)

VALUES = st.sampled_from(
    [
        2.5,
        np.float32(-1e-30),
        np.float16(np.inf),
        np.nan,
        np.zeros(0),
        np.zeros((0, 3)),
        np.array(3.0),
        np.arange(4.0),
        np.array([[np.nan, np.inf], [-np.inf, 1e300]]),
        np.full((5, 5), np.nan),
        np.arange(30.0).reshape(5, 6),
        np.linspace(0, 1, 50).astype(np.float16),
        np.array(1 - 2j),
        np.full(20, complex(np.nan, np.inf)),
        1e300 * np.arange(20) * (1 + 1j),
    ]
)

DATA = st.sampled_from([7, True, np.arange(12), np.array([True, False] * 10), np.uint8(255), -(2**62)])


@st.composite
def odd_traces(draw: Any) -> tape.Trace:
    """A small trace of odd leaves and operations, in odd scopes."""
    trace = tape.Trace(name=draw(TEXTS), sites=True)
    leaves = [trace.param(draw(VALUES), name=draw(TEXTS)), trace.input(draw(DATA), name=draw(TEXTS))]
    for _ in range(draw(st.integers(0, 4))):
        op = Op(
            lambda x, *rest, **attrs: x,
            name=draw(TEXTS),
            vjp=lambda g, out, x, *rest, **attrs: [g, *[None] * len(rest)],
            jvp=lambda t, out, x, *rest, **attrs: t[0],
        )
        operand = draw(st.sampled_from(leaves))
        scopes = draw(st.lists(TEXTS.filter(bool), max_size=2))
        leaves.append(_within(scopes, lambda op=op, x=operand: op(x, draw(VALUES), label=draw(TEXTS))))
    return trace


def _within(scopes: list[str], record: Any) -> Any:
    if not scopes:
        return record()
    with name_scope(scopes[0]):
        return _within(scopes[1:], record)


def product() -> tuple[tape.Trace, Any]:
    """(a + b) * c at 123, 321, 42."""
    trace = tape.Trace(name="product")
    a, b, c = trace.param(123.0, name="a"), trace.param(321.0, name="b"), trace.param(42.0, name="c")
    return trace, (a + b) * c


def network() -> tuple[tape.Trace, Any]:
    """Two layers in scopes of their own, with data and a constant."""
    rng = np.random.default_rng(0)
    trace = tape.Trace(name="network", sites=True)
    h = trace.input(rng.normal(size=(4, 3)), name="x")
    for name in ("first", "second"):
        with name_scope("layers"), name_scope(name):
            h = np.tanh(h @ trace.param(rng.normal(size=(3, 3)), name="w"))
    with name_scope("loss"):
        return trace, np.mean((h - np.ones((4, 3))) ** 2)


def state(trace: tape.Trace) -> list[Any]:
    """All of a trace that drawing must not change."""
    return [trace.adjoints, trace.root, *((node, node.value, node.inputs) for node in trace.nodes)]
