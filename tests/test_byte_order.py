"""Arrays in another byte order, as files of other machines hold them: their numbers are what counts."""

import numpy as np
import pytest

import tape

SWAPPED = {
    "item": lambda x: x[0] ** 2 + x[1],
    "slices": lambda x: np.sum(x[:2] * x[1]),
    "iteration": lambda x: np.sum(np.stack([part * part for part in x])),
    "products": lambda x: np.sum(x.reshape(2, 2).T @ x[:2]),
    "elements": lambda x: np.sum(np.sin(x) * x),
    "steps": lambda x: tape.scan(lambda carry, part: (carry * part + part, part), x[0], x)[0],
    "carry": lambda x: np.sum(
        tape.fori_loop(0, 3, lambda i, c: c * x, np.ones(4, x.dtype.newbyteorder(">")))
    ),
}


@pytest.mark.parametrize("name", SWAPPED)
@pytest.mark.parametrize("dtype", [">f8", ">f4", ">c16"])
def test_arrays_of_another_order_of_bytes_have_the_derivatives_of_their_numbers(name, dtype):
    f, x = SWAPPED[name], np.array([1.0, 2.0, 0.5, -1.0]).astype(dtype)
    native = x.astype(x.dtype.newbyteorder("="))
    transforms = [lambda f: lambda x: tape.jvp(f, (x,), (x,))[1], lambda f: f]
    if x.dtype.kind == "f":
        transforms += [tape.grad, tape.hessian, lambda f: tape.compile(tape.grad(f))]
    for transform in transforms:
        found, expected = transform(f)(x), transform(f)(native)
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == ">f4" else 1e-14)
        assert found.dtype == expected.dtype
        assert found.dtype.isnative
