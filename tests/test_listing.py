"""The tape as text."""

import numpy as np


def test_the_listing_has_one_line_a_node(trace):
    a = trace.param(3.0, name="a")
    b = trace.input(np.ones((2, 3), np.float32), name="data")
    _ = (a * 2.0 + b).sum(axis=0)
    lines = str(trace).splitlines()
    assert lines[0] == "<Trace T: 5 nodes, 1 params>"
    assert [line.split()[0] for line in lines[1:]] == ["%0", "%1", "%2", "%3", "%4"]
    for line, parts in zip(
        lines[1:],
        [
            ("a", "param", "float64[]", "3.0"),
            ("data", "input", "float32[2, 3]"),
            ("multiply(%0, 2.0)", "float64[]", "6.0"),
            ("add(%2, %1)", "[2, 3]"),
            ("sum(%3", "axis=(0,)", "keepdims=False", "[3]"),
        ],
        strict=True,
    ):
        assert all(part in line for part in parts), line
    assert len({line.index("float") for line in lines[1:]}) == 1  # aligned


def test_a_long_listing_leaves_out_the_middle(trace):
    v = trace.param(1.0)
    for _ in range(500):
        v = v + 1.0
    lines = str(trace).splitlines()
    assert len(lines) == 1 + 40 + 1 + 20
    assert lines[41] == "... 441 nodes ..."
    assert lines[-1].startswith("%500")
