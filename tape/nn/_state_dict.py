"""State dicts: the arrays of a model by name, the names being PyTorch's.

The name of an array is the way to it: fields, keys and numbers, with dots between. A layer whose arrays have
other names in PyTorch than its fields says so by a method ``named_parts``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tape import tree
from tape.core.node import Handle
from tape.errors import ConversionError, DTypeError, OptionError, ShapeError, TapeError, near
from tape.tree import fields_of

_SHOWN = 5


def state_dict(model: Any, state: Any = None) -> dict[str, np.ndarray]:
    """Return the arrays of a model by name.

    Parameters
    ----------
    model : tree
        A layer, or a dataclass, dict, list or tuple of layers.
    state : tree, optional
        Its state, as of `init_state`: running statistics have names beside those of their layer.

    Returns
    -------
    dict of str to numpy.ndarray
        Copies, by names such as ``"0.weight"`` and ``"layers.1.bias"``; those that PyTorch gives to the same
        layers. What is shared is there under each of its names.

    Raises
    ------
    ConversionError
        If the model holds Vars.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape import nn
    >>> rng = np.random.default_rng(0)
    >>> model = nn.Sequential(nn.Linear(3, 8, rng=rng), nn.BatchNorm(8), nn.relu, nn.Linear(8, 2, rng=rng))
    >>> list(nn.state_dict(model))
    ['0.weight', '0.bias', '1.weight', '1.bias', '3.weight', '3.bias']
    >>> list(nn.state_dict(model, nn.init_state(model)))[-3:]
    ['1.running_mean', '1.running_var', '1.num_batches_tracked']
    """
    found = {}
    for name, leaf in _named_leaves(model, state):
        if isinstance(leaf, Handle):
            raise ConversionError(f"state_dict: {name} is a Var. Take the state dict of the model itself")
        found[name] = np.array(leaf)
    return found


def load_state_dict(model: Any, arrays: Mapping[str, Any], state: Any = None) -> Any:
    """Return a model like another one, with its arrays from a state dict.

    Parameters
    ----------
    model : tree
        What gives structure, names, shapes and dtypes; it stays as it is.
    arrays : mapping of str to array_like
        A state dict: of `state_dict`, of PyTorch (tensors are converted), or of `numpy.load`.
    state : tree, optional
        A state of the model; the running statistics are in the state dict then as well.

    Returns
    -------
    model : tree
        With copies of the arrays, in the dtypes of ``model``. Arrays that ``model`` shares are shared.
    state : tree
        Only if one is given.

    Raises
    ------
    OptionError
        If names are missing, or unexpected; or if the arrays for one that is shared differ.
    ShapeError
        If an array has another shape.
    DTypeError
        If an array cannot be converted, or not without loss of its kind.

    Examples
    --------
    >>> import numpy as np, tape
    >>> from tape import nn
    >>> model = nn.Linear(2, 1, rng=np.random.default_rng(0))
    >>> loaded = nn.load_state_dict(model, {"weight": [[1.0, 2.0]], "bias": [3.0]})
    >>> loaded(np.ones(2, np.float32))
    array([6.], dtype=float32)
    >>> nn.load_state_dict(model, {"weight": [[1.0, 2.0]]})
    Traceback (most recent call last):
    tape.errors.OptionError: load_state_dict: missing: bias...
    """
    leaves, structure = tree.flatten((model, state))
    named = dict(_named_leaves(*tree.unflatten(structure, range(len(leaves)))))  # name -> number of the leaf
    _check_names(named, arrays)
    loaded = list(leaves)
    by_identity: dict[int, tuple[str, Any]] = {}
    wrong = []
    for name, k in named.items():
        try:
            array = _like(name, arrays[name], leaves[k])
        except ShapeError as error:
            wrong.append(str(error.args[0]).split(" [at ")[0].split(" (in ")[0])
            continue
        first, shared = by_identity.setdefault(id(leaves[k]), (name, array))
        if isinstance(leaves[k], np.ndarray) and shared is not array:
            if not np.array_equal(shared, array, equal_nan=array.dtype.kind in "fc"):
                raise OptionError(
                    f"load_state_dict: {first} and {name} are one array in the model, and two different ones "
                    "in the state dict. Load into a model that does not share them"
                )
            array = shared
        loaded[k] = array
    if wrong:
        raise ShapeError(f"load_state_dict: {_listed(wrong, '; ')}. Make a model of these sizes")
    new_model, new_state = tree.unflatten(structure, loaded)
    return new_model if state is None else (new_model, new_state)


def _named_leaves(model: Any, state: Any) -> Iterator[tuple[str, Any]]:
    yield from _walk(model, "")
    yield from _walk(state, "")


def _walk(part: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield all leaves below a part of a model, with their names."""
    if part is None:
        return
    parts = parts_of(part)
    if parts is None:
        yield name or "value", part
        return
    for key, child in parts:
        yield from _walk(child, f"{name}.{key}" if name else key)


def parts_of(part: Any) -> list[tuple[str, Any]] | None:
    """Return what a part of a model consists of, by name; None for leaves."""
    if hasattr(part, "named_parts"):
        return part.named_parts()
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        return [(key, getattr(part, key)) for key in fields_of(type(part))[0]]
    if isinstance(part, dict):
        return [(str(key), child) for key, child in part.items()]
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return list(zip(part._fields, part, strict=True))
    if isinstance(part, (list, tuple)):
        return [(str(k), child) for k, child in enumerate(part)]
    return None


def _check_names(named: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    missing = [name for name in named if name not in arrays]
    unexpected = [f"{name}{near(name, missing)}" for name in arrays if name not in named]
    if not missing and not unexpected:
        return
    complaints = [
        f"{what}: {_listed(names)}"
        for what, names in (("missing", missing), ("unexpected", unexpected))
        if names
    ]
    statistics = any("running_mean" in name for name in unexpected)
    advice = (
        "Running statistics are a state: load_state_dict(model, arrays, tape.nn.init_state(model))"
        if statistics
        else "The names of a model are those of tape.nn.state_dict(model)"
    )
    raise OptionError(f"load_state_dict: {'; '.join(complaints)}. {advice}")


def _listed(names: list[str], separator: str = ", ") -> str:
    more = f"{separator}and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return separator.join(names[:_SHOWN]) + more


def _like(name: str, given: Any, leaf: Any) -> Any:
    """Return a copy of an array in the shape and dtype of a leaf."""
    dtype = leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype
    try:
        array = np.asarray(given.detach() if hasattr(given, "detach") else given)
    except TapeError:
        raise
    except Exception as error:  # whatever another library raises
        raise DTypeError(
            f"load_state_dict: {name} cannot be converted to an array: {error}. Move tensors to the CPU, and "
            "convert them to a dtype of NumPy"
        ) from error
    if array.shape != np.shape(leaf):
        raise ShapeError(f"{name} has shape {list(array.shape)}, and not {list(np.shape(leaf))}")
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise DTypeError(f"load_state_dict: {name} is {array.dtype}, which does not convert to {dtype}")
    if isinstance(leaf, np.generic):
        return array.astype(dtype)[()]
    return array.astype(dtype)
