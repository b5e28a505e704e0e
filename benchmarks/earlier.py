"""Comparing a run with an earlier one, which was measured at another time or on another machine.

Times of two runs cannot be compared: machines drift. But each run measured its contenders in turns, so the
time relative to one that has not changed (NumPy by hand, or another library) can be. What is within the
quartiles of both runs is noise. To compare two versions of tape in turns, use `benchmarks.against`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from benchmarks.contenders import is_rival

__all__ = ["Change", "changes"]

_LEAST = 1.03
"""A smaller change is called noise, however narrow the quartiles are."""


class _Interval(NamedTuple):
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Change:
    """How the time of a contender, relative to the reference, has changed.

    Attributes
    ----------
    label : str
        Workload, case and contender.
    reference : str
        The contender that both runs measured beside it; empty if there is none.
    ratio : float
        The relative time of this run, divided by that of the earlier one; without a reference, of the times.
    verdict : {"slower", "faster", "noise", "unknown"}
        Unknown without a reference.
    """

    label: str
    reference: str
    ratio: float
    verdict: Literal["slower", "faster", "noise", "unknown"]

    def __str__(self) -> str:
        beside = f"beside {self.reference}" if self.reference else "nothing beside it"
        return f"{self.ratio:8.3f}  {self.verdict:8}{self.label}  ({beside})"


def changes(earlier: list[dict[str, Any]], later: list[dict[str, Any]]) -> list[Change]:
    """Compare the workloads of two runs, as `benchmarks.report.as_data` returns them.

    Cases and contenders that only one of them has are left out.
    """
    before = dict(_cases(earlier))
    return [
        change
        for label, case in _cases(later)
        if label in before
        for change in _changes(label, before[label], case)
    ]


def _cases(workloads: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for workload in workloads:
        for case in workload["cases"]:
            label = " · ".join(part for part in (workload["workload"], case["case"]) if part)
            yield label, {contender["name"]: contender for contender in case["contenders"]}


def _changes(label: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    shared = [name for name in after if name in before]
    others = [name for name in shared if is_rival(name) or name.partition(" ")[0] == "numpy"]
    reference = min(others, key=lambda name: name != "numpy", default="")
    for name in shared:
        if name in others:
            continue
        full = f"{label} · {name}"
        old, new = (_relative(run, name, reference) for run in (before, after))
        if old and new:
            ratio = new.median / old.median
            is_apart = max(ratio, 1 / ratio) > _LEAST and (new.low > old.high or new.high < old.low)
            yield Change(
                full, reference, ratio, ("slower" if ratio > 1 else "faster") if is_apart else "noise"
            )
        else:
            ratio = after[name]["seconds_per_unit"] / before[name]["seconds_per_unit"]
            yield Change(full, "", ratio, "unknown")


def _relative(run: dict[str, Any], name: str, reference: str) -> _Interval | None:
    """Return the time of a contender relative to the reference, with quartiles; None if it is not known."""
    ratios = [_ratio(run[one]) for one in (name, reference) if one]
    if len(ratios) < 2 or None in ratios:
        return None
    (low, median, high), (other_low, other_median, other_high) = ratios  # type: ignore[misc]
    return _Interval(low / other_high, median / other_median, high / other_low)


def _ratio(contender: dict[str, Any]) -> _Interval | None:
    """Return the ratio to the baseline, which is the same for all contenders of a case."""
    median = next(value for key, value in contender.items() if key.startswith("ratio_to_"))
    if median is None or min(median, *contender["ratio_quartiles"]) <= 0:
        return None
    low, high = contender["ratio_quartiles"]
    return _Interval(low, median, high)
