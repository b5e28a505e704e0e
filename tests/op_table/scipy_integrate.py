"""Integrals as in `scipy.integrate`: of samples, of functions, and of differential equations."""

from typing import Any

import numpy as np
from scipy import integrate

import tape
from tests import naive
from tests.op_table.case import Case, complexes, positive, real
from tests.op_table.differences import positions
from tests.tiers import is_full


def module(ns: Any) -> Any:
    return integrate if ns is naive else tape.scipy.integrate


def of(name: str, *arguments: Any, note: str = "", **options: Any) -> Case:
    return Case(
        f"scipy.integrate.{name}{note}",
        lambda ns, *args: getattr(module(ns), name)(*args, **options),
        *arguments,
    )


def of_positions(name: str, *arguments: Any, note: str = "", **options: Any) -> Case:
    return Case(
        f"scipy.integrate.{name} x{note}",
        lambda ns, y, x: getattr(module(ns), name)(y, x=x, **options),
        *arguments,
    )


def gauss(ns: Any, a: Any, b: Any) -> Any:
    return module(ns).fixed_quad(lambda x: np.exp(a * x), 0.0, b, n=4)[0]


# "ints" marks what is computed in double precision whatever comes in.

PLAIN = [
    of_positions("simpson", real(2, 6), positions(6), note=" even ints"),
]  # fmt: skip
ALL = [
    *PLAIN,
    of("trapezoid", real(3, 2), note=" axis=0", axis=0),
    of("simpson", real(5)),
    Case("scipy.integrate.simpson dx", lambda ns, y, dx: module(ns).simpson(y, dx=dx, axis=0),
         real(5, 2), positive()),
    of("simpson", real(4), note=" even ints"),
    of("simpson", complexes(2), note=" two complex"),
    of_positions("simpson", real(5, 2), positions(5), note=" axis=0 ints", axis=0),
    of("cumulative_trapezoid", real(2, 4), note=" initial", initial=0),
    of_positions("cumulative_trapezoid", real(4, 2), positions(4), axis=0),
    of("cumulative_simpson", real(2, 5), note=" ints"),
    of_positions("cumulative_simpson", real(6, 2), positions(6), axis=0),
    Case("scipy.integrate.cumulative_simpson dx initial ints",
         lambda ns, y, dx, start: module(ns).cumulative_simpson(y, dx=dx, initial=start),
         real(2, 4), positive(), real()),
    Case("scipy.integrate.romb ints", lambda ns, y, dx: module(ns).romb(y, dx=dx, axis=0),
         real(5, 2), positive()),
    Case("scipy.integrate.fixed_quad ints", gauss, real(), positive()),
]  # fmt: skip
CASES = ALL if is_full() else PLAIN
