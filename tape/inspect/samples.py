"""Sample calls: one call of each function that takes Vars, declared in the file of its family.

`tape.support` runs them for the table of what every function supports; a test requires
one for each function with an operation.
"""

from __future__ import annotations

SAMPLES: dict[str, str] = {}
"""The sample call of each function, by the name of the function."""


def name_of(sample: str) -> str:
    """Return the name of the function that a sample calls.

    Examples
    --------
    >>> from tape.inspect.samples import name_of
    >>> name_of("np.sum(x, axis=1)")
    'np.sum'
    """
    return sample.partition("(")[0]


def declare_samples(*samples: str) -> None:
    """Declare a sample call of each function in a family.

    Parameters
    ----------
    *samples : str
        Expressions that start with the name of the function, as users call it: ``"np.sum(x, axis=1)"``; or
        with the names of several that are called alike: ``"np.max, np.min(x, axis=1)"``. The names in them
        are those of `tape.support.samples`: the matrices ``x`` and ``y``, the vectors ``u``, ``v`` and ``w``,
        the square matrices ``s``, ``g`` and ``h`` and the number ``c``, which are differentiated, and arrays
        of data.

    Examples
    --------
    >>> from tape.inspect.samples import SAMPLES
    >>> SAMPLES["np.cumsum"]
    'np.cumsum(x, axis=1)'
    """
    for sample in samples:
        names, bracket, arguments = sample.partition("(")
        SAMPLES.update({name: f"{name}{bracket}{arguments}" for name in names.split(", ")})
