"""Functions of tape in the graphs of PyTorch, JAX and PyTensor: values, derivatives, and refusals."""

import gc

import numpy as np
import pytest

import tape
from tape import errors
from tape.interop import to_jax, to_pytensor, to_torch
from tape.interop._flat import Pullbacks, Signature
from tests.oracles import pytorch
from tests.tiers import takes_long


@pytest.fixture
def torch():
    return pytorch()


@pytest.fixture(scope="module")
def jax():
    found = pytest.importorskip("jax", reason="compares with JAX")
    before = found.config.jax_enable_x64
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", before)


def physics(params, x, power=2):
    """A tree of params, an array and a plain number; two results, one of them of ints."""
    out = np.sum(params["w"] * np.sin(x) ** power) + params["b"][0] ** 3
    return {"energy": out, "rows": np.argmax(x, axis=0)}


W, B, X = np.array([0.5, -1.0, 2.0]), np.array(0.7), np.linspace(-1, 1, 6).reshape(2, 3)


def test_calls_have_equal_keys_if_they_differ_in_arrays_alone():
    def key(*args, **kwargs):
        return Signature(args, kwargs, lambda leaf: isinstance(leaf, np.ndarray)).key

    assert key(X, 2, power=[W]) == key(2 * X, 2, power=[B])
    others = [key(X, 2, W), key(X, 2, power=W), key(X, 2.0, power=[W]), key(X, True), key(X, 1), key(2, X)]
    assert len({*others, key(X, 2, power=[W])}) == 7
    assert key(X, {1, 2}) is None


# ---- PyTorch -------------------------------------------------------------------------------------------


def test_values_and_gradients_are_those_of_tape(torch):
    call = to_torch(physics)
    w, b, x = (torch.tensor(a, requires_grad=True) for a in (W, B, X))
    for power in (2, 3):
        out = call({"w": w, "b": [b]}, x, power=power)
        assert out["energy"].item() == pytest.approx(float(physics({"w": W, "b": [B]}, X, power)["energy"]))
        assert out["rows"].tolist() == [1, 1, 1]
        assert not out["rows"].requires_grad
        found = torch.autograd.grad(out["energy"], [w, x])
        expected = tape.grad(lambda p, x, n=power: physics(p, x, n)["energy"], argnums=(0, 1))(
            {"w": W, "b": [B]}, X
        )
        np.testing.assert_allclose(found[0], expected[0]["w"], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_derivatives_pass_checks_of_any_order(torch):
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    y = torch.randn(4, dtype=torch.float64, requires_grad=True)
    call = to_torch(lambda x, y: (np.sin(x) @ y, np.sum(x * x) * y[0]))
    assert torch.autograd.gradcheck(call, (x, y))
    assert torch.autograd.gradgradcheck(call, (x, y))
    third = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    out = to_torch(lambda x: np.exp(2 * x))(third)
    for _ in range(3):
        (out,) = torch.autograd.grad(out, third, create_graph=True)
    assert out.item() == pytest.approx(8 * np.exp(0.6), rel=1e-12)


def test_gradients_of_complex_numbers_are_those_of_pytorch(torch):
    z = torch.tensor([1 + 2j, -0.5j], requires_grad=True)
    theirs = torch.autograd.grad((z.exp() * z).abs().pow(2).sum(), z)[0]
    ours = torch.autograd.grad(to_torch(lambda z: np.exp(z) * z)(z).abs().pow(2).sum(), z)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_dtypes_layouts_and_conjugate_views_are_kept(torch):
    double = to_torch(lambda x: x * 2)
    for dtype in (torch.float32, torch.float64, torch.int32, torch.complex64):
        assert double(torch.ones(3, dtype=dtype)).dtype == dtype
    z = torch.tensor([[1 + 2j, 3j]])
    np.testing.assert_array_equal(double(z.conj().T), 2 * z.conj().T)


def test_results_have_memory_of_their_own(torch):
    x = torch.ones(3)
    out = to_torch(lambda x: x[:2])(x)
    out += 1
    assert x.tolist() == [1, 1, 1]


@takes_long
def test_in_the_middle_of_a_network_that_is_trained(torch):
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2, dtype=torch.float64)
    call = to_torch(lambda x: np.sum(x**2, axis=1))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(8, 3, dtype=torch.float64)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = call(layer(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


KINDS = [0.0, -0.0, 1.0, True, 1, np.nan, np.float32(1.0), "up", "down", None, (1.0, -0.0), (1.0, 0.0)]
"""Settings that a comparison may take for another one: by sign, by type, or never for themselves."""


def signed(x, setting):
    """A function of an array whose slope tells the setting."""
    if isinstance(setting, tuple):
        return signed(x, setting[0]) + 2 * signed(x, setting[1])
    kinds = {"up": 3.0, "down": -3.0, None: 5.0}
    slope = kinds[setting] if setting is None or isinstance(setting, str) else np.copysign(7.0, setting)
    return np.sum(x * slope * (2.0 if isinstance(setting, bool) else 1.0)) + 0.0 * np.sum(x)


@pytest.mark.parametrize("seed", range(3))
def test_settings_are_told_apart_in_any_order(torch, seed):
    call = to_torch(signed)
    for k in np.random.default_rng(seed).integers(0, len(KINDS), 40):
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        call(x, KINDS[k]).backward()
        np.testing.assert_array_equal(x.grad, tape.grad(lambda x, k=k: signed(x, KINDS[k]))(np.ones(2)))


def test_what_is_kept_does_not_grow_with_the_calls(torch):
    """There is one pullback for each choice of tensors, though NaN is never equal to itself."""
    before = {id(thing) for thing in gc.get_objects() if type(thing) is Pullbacks}
    call = to_torch(signed)
    for number in (np.nan, 1.0, np.nan, -0.0) * 5:
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        call(x, number).backward()
    made = [thing for thing in gc.get_objects() if type(thing) is Pullbacks and id(thing) not in before]
    assert sorted(len(thing._known) for thing in made) == [0, 1]


def test_what_tensors_cannot_be_is_refused(torch):
    call = to_torch(np.sin)
    with pytest.raises(errors.UnsupportedError, match=r"tensor\.cpu\(\)"):
        call(torch.ones(2, device="meta"))
    with pytest.raises(errors.UnsupportedError, match="float32"):
        call(torch.ones(2, dtype=torch.bfloat16))


# ---- JAX -----------------------------------------------------------------------------------------------


@takes_long
def test_values_and_gradients_in_jax(jax):
    call = to_jax(physics)
    for power in (2, 3):

        def energy(params, x, power=power):
            return call(params, x, power=power)["energy"]

        given = {"w": jax.numpy.array(W), "b": [jax.numpy.array(B)]}, jax.numpy.array(X)
        expected = tape.value_and_grad(lambda p, x, n=power: physics(p, x, n)["energy"], argnums=(0, 1))(
            {"w": W, "b": [B]}, X
        )
        for way in (lambda f: f, jax.jit):
            value, found = way(jax.value_and_grad(energy, argnums=(0, 1)))(*given)
            assert float(value) == pytest.approx(float(expected[0]), rel=1e-12)
            np.testing.assert_allclose(found[0]["w"], expected[1][0]["w"], rtol=1e-12)
            np.testing.assert_allclose(found[0]["b"][0], expected[1][0]["b"][0], rtol=1e-12)
            np.testing.assert_allclose(found[1], expected[1][1], rtol=1e-12)
        assert call(*given)["rows"].tolist() == [1, 1, 1]


def test_batches_and_higher_orders_in_jax(jax):
    call = to_jax(lambda x: np.sum(np.sin(x) ** 2))
    x = jax.numpy.array(X)
    slopes = jax.vmap(jax.grad(call))(x)
    np.testing.assert_allclose(slopes, np.sin(2 * X), rtol=1e-12)
    wave = to_jax(lambda x: np.exp(2 * x))
    assert float(jax.grad(jax.grad(jax.grad(wave)))(0.3)) == pytest.approx(8 * np.exp(0.6), rel=1e-12)


@takes_long
def test_complex_numbers_in_jax(jax):
    z = jax.numpy.array([1 + 2j, -0.5j])

    def loss(f):
        return lambda z: jax.numpy.sum(jax.numpy.abs(f(z)) ** 2)

    theirs = jax.grad(loss(lambda z: jax.numpy.exp(z) * z))(z)
    ours = jax.grad(loss(to_jax(lambda z: np.exp(z) * z)))(z)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@takes_long
@pytest.mark.parametrize("seed", range(2))
def test_settings_are_told_apart_in_jax(jax, seed):
    call = to_jax(signed)
    for k in np.random.default_rng(seed).integers(0, len(KINDS), 15):
        found = jax.grad(lambda x, k=k: call(x, KINDS[k]))(jax.numpy.ones(2))
        np.testing.assert_array_equal(found, tape.grad(lambda x, k=k: signed(x, KINDS[k]))(np.ones(2)))


def test_shapes_depend_on_settings(jax):
    repeated = to_jax(lambda x, n: np.concatenate([x] * n))
    for n in (1, 3, 2, 1):
        assert repeated(jax.numpy.ones(2), n).shape == (2 * n,)


def test_the_function_is_called_with_ones_once_for_each_kind_of_arguments(jax):
    shapes = []

    def double(x, n=1):
        if type(x) is np.ndarray and np.all(x == 1):
            shapes.append((x.shape, x.dtype, n))
        return 2 * x

    call = to_jax(double)
    kinds = [((2,), "f8", 1), ((3,), "f8", 1), ((3,), "f4", 1), ((3,), "f8", 2), ((3,), "f8", 1.0)]
    for shape, dtype, n in kinds * 3:
        x = jax.numpy.full(shape, 0.5, dtype)
        assert call(x, n).shape == shape
    assert shapes == [(shape, np.dtype(dtype), n) for shape, dtype, n in kinds]


def test_shapes_that_ones_do_not_tell(jax):
    def picky(x):
        if np.sum(x) > 2:
            raise ValueError("too large")
        return x * 2

    x = jax.numpy.array([0.1, 0.2, 0.3])
    with pytest.raises(errors.UnsupportedError, match=r"too large.*Pass like="):
        to_jax(picky)(x)
    np.testing.assert_allclose(to_jax(picky, like=x)(x), [0.2, 0.4, 0.6])


# ---- PyTensor ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pytensor():
    found = pytest.importorskip("pytensor", reason="compares with PyTensor")
    pytest.importorskip("pytensor.tensor")
    with found.config.change_flags(mode="FAST_COMPILE", linker="py"):  # it compiles as long as the tests take
        yield found


@takes_long
def test_values_and_gradients_in_pytensor(pytensor):
    call = to_pytensor(physics)
    w, b, x = pytensor.tensor.dvector(), pytensor.tensor.dscalar(), pytensor.tensor.dmatrix()
    for power in (2, 3):
        out = call({"w": w, "b": [b]}, x, power=power)
        assert out["rows"].type.dtype == "int64"
        slopes = pytensor.grad(out["energy"] ** 2, [w, b, x])
        *found, rows = pytensor.function([w, b, x], [*slopes, out["rows"]])(W, B, X)
        expected = tape.grad(lambda p, x, n=power: physics(p, x, n)["energy"] ** 2, argnums=(0, 1))(
            {"w": W, "b": [B]}, X
        )
        np.testing.assert_allclose(found[0], expected[0]["w"], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[0]["b"][0], rtol=1e-12)
        np.testing.assert_allclose(found[2], expected[1], rtol=1e-12)
        assert rows.tolist() == [1, 1, 1]


@takes_long
def test_higher_orders_several_results_and_ints_in_pytensor(pytensor):
    tensor = pytensor.tensor
    call = to_pytensor(lambda x, n: (np.sum(np.sin(x)) ** 2 * n, x * n))
    x, n = tensor.dvector(), tensor.lscalar()
    first, second = call(x, n)
    total = first + tensor.sum(second**2)
    run = pytensor.function([x, n], [pytensor.gradient.hessian(total, x), pytensor.grad(second[1], x)])
    hessian, row = run(W, 2)
    expected = tape.hessian(lambda x: np.sum(np.sin(x)) ** 2 * 2 + np.sum((2 * x) ** 2))(W)
    np.testing.assert_allclose(hessian, expected, rtol=1e-12)
    np.testing.assert_array_equal(row, [0.0, 2.0, 0.0])


def test_settings_are_told_apart_in_pytensor(pytensor):
    call, x = to_pytensor(signed), pytensor.tensor.dvector()
    slopes = [pytensor.grad(call(x, kind), x) for kind in KINDS]
    for found, kind in zip(pytensor.function([x], slopes)(np.ones(2)), KINDS, strict=True):
        np.testing.assert_array_equal(found, tape.grad(lambda x, k=kind: signed(x, k))(np.ones(2)))


def test_lengths_differ_between_calls_in_pytensor(pytensor):
    x = pytensor.tensor.dvector()
    run = pytensor.function([x], to_pytensor(lambda x: x[::-1] * 2)(x))
    for n in (3, 0, 5, 3):
        np.testing.assert_array_equal(run(np.arange(1.0 * n)), np.arange(1.0 * n)[::-1] * 2)
    same = pytensor.function([x], to_pytensor(lambda x: x)(x))
    given = np.ones(2)
    out = same(given)
    out[0] = 5.0
    assert given.tolist() == [1.0, 1.0]


def test_what_pytensor_cannot_take_is_refused(pytensor):
    tensor = pytensor.tensor
    with pytest.raises(errors.UnsupportedError, match=r"fails at ones.*Pass like="):
        to_pytensor(lambda x: x @ np.ones(3))(tensor.dvector())
    x = tensor.dvector()
    product = pytensor.function([x], to_pytensor(lambda x: x @ np.ones(3), like=0.0)(x))
    assert product([1.0, 2.0, 4.0]) == 7.0
    with pytest.raises(errors.UnsupportedError, match="Pass real and imaginary parts"):
        to_pytensor(np.exp)(tensor.zvector())
    with pytest.raises(errors.ConversionError, match="got no variable"):
        to_pytensor(np.exp)(np.ones(2))
    wrong = pytensor.function([x], to_pytensor(lambda x: x, like=np.ones((1, 1)))(x))
    with pytest.raises(errors.ConversionError, match="Pass like="):
        wrong([1.0])


# ---- what changes between calls --------------------------------------------------------------------------


class Scaled:
    """A function that reads an attribute."""

    def __init__(self):
        self.scale, self.flags = 1.0, [True]

    def __call__(self, x):
        return np.sum(x**2 * self.scale) if self.flags[0] else np.sum(x**3)


def by_torch(f, torch):
    call = to_torch(f)

    def slope(x):
        x = torch.tensor(x, requires_grad=True)
        value = call(x)
        value.backward()
        return value.item(), x.grad

    return slope


def by_jax(f, jax):
    call = jax.value_and_grad(to_jax(f))
    return lambda x: call(jax.numpy.asarray(x))


def by_pytensor(f, pytensor):
    x = pytensor.tensor.dvector()
    value = to_pytensor(f)(x)
    return pytensor.function([x], [value, pytensor.grad(value, x)])


BY = {"torch": by_torch, "jax": by_jax, "pytensor": by_pytensor}


@takes_long
@pytest.mark.parametrize("library", BY)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_derivatives_follow_names_that_are_bound_anew(library, is_compiled, request):
    f = Scaled()
    inner = tape.compile(f.__call__) if is_compiled else f
    slope = BY[library](lambda x: inner(x), request.getfixturevalue(library))
    x = np.array([1.0, -2.0])
    for f.scale in (1.0, 3.0, 0.5):
        for f.flags[0] in (True, False, True):
            for _ in range(2):
                value, gradient = slope(x)
                expected = tape.value_and_grad(f)(x)
                assert float(value) == expected[0]
                np.testing.assert_array_equal(gradient, expected[1])


@pytest.mark.parametrize("is_argument", [False, True])
def test_derivatives_are_by_the_draws_of_the_value(torch, is_argument):
    rng, other = tape.random.default_rng(3), tape.random.default_rng(3)
    call = to_torch(lambda x, rng=rng: np.sum(x**2 * rng.normal(size=2)))
    for _ in range(3):
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        value = call(x, rng) if is_argument else call(x)
        (slope,) = torch.autograd.grad(value, x, create_graph=True)
        (twice,) = torch.autograd.grad(slope.sum(), x)
        draws = other.normal(size=2)
        np.testing.assert_allclose(slope.detach(), 2 * draws, rtol=1e-12)
        np.testing.assert_allclose(twice, 2 * draws, rtol=1e-12)
        assert value.item() == pytest.approx(np.sum(draws))


@pytest.mark.parametrize("library", ["jax", "pytensor"])
def test_derivatives_by_other_draws_are_an_error(library, request):
    rng = tape.random.default_rng(3)
    slope = BY[library](lambda x: np.sum(x * rng.normal(size=2)), request.getfixturevalue(library))
    with pytest.raises(Exception, match="drew random numbers that the derivative of"):
        slope(np.ones(2))


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: {"pos": x} if np.sum(x) > 0 else {"neg": x}, "'neg'"),
        (lambda x: (x, x) if np.sum(x) > 0 else [x, x], "where "),
        (lambda x: np.array([1, 2]) if np.sum(x) > 0 else x, "float64"),
        (lambda x: x if np.sum(x) > 0 else x * 1j, "complex128"),
        (lambda x: x if np.sum(x) > 0 else x[:1], r"\[1\]|float64"),
    ],
)
def test_results_of_another_kind_than_at_ones_are_an_error_in_jax(jax, f, what):
    """They were converted, and took the names of the others."""
    call = to_jax(f)
    call(jax.numpy.ones(2))
    with pytest.raises(Exception, match=what):
        jax.block_until_ready(call(-jax.numpy.ones(2)))


def test_results_of_another_structure_are_an_error_in_pytensor(pytensor):
    x = pytensor.tensor.dvector()
    out = to_pytensor(lambda x: {"pos": x} if np.sum(x) > 0 else {"neg": x})(x)
    run = pytensor.function([x], out["pos"])
    run(np.ones(2))
    with pytest.raises(errors.ConversionError, match="Return the same structure"):
        run(-np.ones(2))
