"""Complex numbers in transforms and programs: one convention everywhere, and an error where there is none."""

from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import tape
from tape import errors, ops
from tests.oracles import assert_close, assert_same, difference, difference_gradient
from tests.tiers import takes_long

RNG = np.random.default_rng(0)


def complexes(*shape: int) -> Any:
    return RNG.uniform(0.5, 1.5, shape) + 1j * RNG.uniform(-1, 1, shape)


Z, V, W = complexes(3), complexes(3), complexes(3)
A = complexes(3, 3)
T = np.array([0.3, 0.7, 1.1])

HOLOMORPHIC = {
    "products": lambda z: z * (A @ z) + 2 * z,
    "functions": lambda z: np.exp(z) * np.sin(z) / z + np.log(z),
    "sums": lambda z: np.sum(z * z) * z[:2] - np.mean(z),
    "joined": lambda z: np.concatenate([z[::-1], 1j * z])[1:5].reshape(2, 2).T,
}
OTHERS = {
    "conjugate": lambda z: np.conj(z) * np.exp(z),
    "parts": lambda z: np.real(z) * 1j + np.imag(A @ z) * z,
    "norms": lambda z: z / np.sqrt(np.sum(np.real(z * np.conj(z)))),
}
TO_COMPLEX = {**HOLOMORPHIC, **OTHERS}
TO_REAL = {
    "norm": lambda z: np.real(z * np.conj(z)),
    "holomorphic": lambda z: np.imag(np.exp(z) * (A @ z)),
    "mixed": lambda z: np.real(np.conj(z) * np.sin(z)) * np.imag(z),
}


def of_parts(f: Any) -> Any:
    """The same function, of real and imaginary parts."""
    return lambda p: f(p[0] + 1j * p[1])


def parts_of(z: Any) -> Any:
    return np.stack([np.real(z), np.imag(z)])


def pairing(g: Any, v: Any) -> Any:
    """By how much a gradient says that something changes."""
    return np.real(np.sum(g * v))


# ---- gradients -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TO_REAL)
def test_gradients_are_by_the_real_part_minus_i_times_by_the_imaginary_part(name):
    def f(z: Any) -> Any:
        return np.sum(TO_REAL[name](z))

    by_parts = tape.grad(of_parts(f))(parts_of(Z))
    expected = by_parts[0] - 1j * by_parts[1]
    assert_close(expected, difference_gradient(f, Z, 1.0))
    assert_close(tape.grad(f)(Z), expected, 1e-14)
    assert_close(tape.elementwise_grad(TO_REAL[name])(Z), expected, 1e-14)
    value, gradient = tape.value_and_grad(f)(Z)
    assert_close(value, f(Z))
    assert_close(gradient, expected, 1e-14)


def test_down_is_along_minus_the_conjugate_gradient():
    z = Z
    for _ in range(200):
        z = z - 0.1 * np.conj(tape.grad(lambda z: np.sum(np.real((z - V) * np.conj(z - V))))(z))
    assert_close(z, V, 1e-12)


def test_gradients_have_the_kind_of_their_arguments():
    """A real argument among complex ones gets a real gradient, in single precision too."""

    def f(p: Any) -> Any:
        return np.real(np.sum(p["z"] * p["x"]) * p["c"])

    args = {"z": Z.astype(np.complex64), "x": T.astype(np.float32), "c": 1 + 2j}
    found = tape.grad(f)(args)
    assert [found[name].dtype for name in ("z", "x", "c")] == [np.complex64, np.float32, np.complex128]
    assert_close(found["x"], np.real(args["z"] * (1 + 2j)), 1e-6)
    assert_close(found["c"], np.sum(Z * T), 1e-6)


def test_what_a_complex_argument_does_not_matter_to_has_complex_zeros():
    found = tape.grad(lambda z, w: np.real(z), (0, 1))(1j, 2j)
    assert_same(found[1], np.complex128(0))


def test_stopped_values_are_constant():
    found = tape.grad(lambda z: np.real(np.sum(z * tape.stop_gradient(np.conj(z)))))(Z)
    assert_close(found, np.conj(Z))


@pytest.mark.parametrize(
    "transform", [tape.grad, tape.value_and_grad, tape.elementwise_grad, tape.hessian, tape.laplacian]
)
def test_what_is_complex_has_no_gradient(transform):
    with pytest.raises(errors.DTypeError, match=r"exp returned complex.*np\.real.*tape\.vjp.*tape\.jacobian"):
        transform(np.exp)(1j)
    with pytest.raises(errors.DTypeError, match="<lambda> returned complex"):
        transform(lambda x: np.exp(1j * x))(1.0)
    with pytest.raises(errors.DTypeError, match="<lambda> returned 1j"):
        transform(lambda x: 1j)(1.0)


@pytest.mark.parametrize("transform", [tape.hessian, tape.laplacian, tape.divergence])
def test_no_matrix_of_second_derivatives_by_complex_numbers(transform):
    f = (lambda z: np.sum(np.real(z * z))) if transform is not tape.divergence else np.exp
    with pytest.raises(errors.DTypeError, match=r"argument 0 of .* is complex128.*real and imaginary parts"):
        transform(f)(Z)


# ---- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", {**TO_COMPLEX, **TO_REAL})
def test_both_modes(name):
    f = {**TO_COMPLEX, **TO_REAL}[name]
    out, tangent = tape.jvp(f, (Z,), (V,))
    assert_close(out, f(Z), 1e-15)
    assert tangent.dtype == out.dtype
    assert_close(tangent, difference(f, [Z], [V]))
    assert_close(tape.directional_derivative(f)(Z, V), tangent, 1e-14)
    assert_close(tape.linearize(f, Z)[1](V), tangent, 1e-14)
    assert_close(tape.rop(f, Z, V), tangent, 1e-14)
    assert_close(tape.rop(f, Z, V, method="double_lop"), tangent, 1e-14)
    g = np.asarray(complexes(*out.shape), out.dtype) if out.dtype.kind == "c" else RNG.normal(size=out.shape)
    (pulled,) = tape.vjp(f, Z)[1](g)
    assert pulled.dtype == complex
    assert_close(pairing(pulled, V), pairing(g, tangent), 1e-13)


def test_seeds_may_be_real_where_the_result_is_complex_and_not_the_other_way_round():
    _, pullback = tape.vjp(np.exp, Z)
    assert_close(pullback(np.ones(3))[0], np.exp(Z))
    _, pullback = tape.vjp(np.real, Z)
    with pytest.raises(errors.SeedError, match="does not convert to float64"):
        pullback(1j * np.ones(3))
    with pytest.raises(errors.SeedError, match="does not convert to float64"):
        tape.jvp(np.exp, (T,), (1j * T,))


@pytest.mark.parametrize("name", TO_REAL)
def test_second_order(name):
    """The product with the Hessian is how the gradient moves."""

    def f(z: Any) -> Any:
        return np.sum(TO_REAL[name](z))

    expected = difference(tape.grad(f), [Z], [V])
    assert_close(tape.hvp(f)(Z, V), expected)
    assert_close(tape.jvp(tape.grad(f), (Z,), (V,))[1], expected)
    assert_close(tape.grad(lambda z: pairing(tape.grad(f)(z), V))(Z), expected)
    assert_close(tape.grad(lambda z: tape.jvp(f, (z,), (V,))[1])(Z), expected)
    by_parts = tape.hessian(of_parts(f))(parts_of(Z))
    moved = np.tensordot(by_parts, parts_of(V), 2)
    assert_close(tape.hvp(f)(Z, V), moved[0] - 1j * moved[1], 1e-13)


@pytest.mark.parametrize("name", TO_COMPLEX)
def test_gauss_newton_products_are_inner_products_of_tangents(name):
    f = TO_COMPLEX[name]
    _, along_v = tape.jvp(f, (Z,), (V,))
    _, along_w = tape.jvp(f, (Z,), (W,))
    expected = pairing(np.conj(along_v), along_w)
    assert_close(pairing(tape.gnvp(f)(Z, V), W), expected, 1e-13)
    half_squares = lambda r: np.sum(np.real(r * np.conj(r))) / 2  # noqa: E731
    assert_close(pairing(tape.gnvp(f, half_squares)(Z, V), W), expected, 1e-13)


# ---- Jacobians -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "fwd", "rev"])
@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_jacobians_of_holomorphic_functions(name, mode):
    f = HOLOMORPHIC[name]
    found = tape.jacobian(f, mode=mode, holomorphic=True)(Z)
    assert found.shape == (*f(Z).shape, 3)
    for direction in (V, 1j * V):
        assert_close(found @ direction, difference(f, [Z], [direction]))


@pytest.mark.parametrize("name", TO_REAL)
def test_jacobians_of_real_results_are_their_gradients(name):
    found = tape.jacobian(TO_REAL[name])(Z)
    assert_same(tape.jacobian(TO_REAL[name], mode="rev")(Z), found)
    for k in range(3):
        assert_close(found[k], tape.grad(lambda z, k=k: TO_REAL[name](z)[k])(Z), 1e-14)


@pytest.mark.parametrize("mode", ["auto", "fwd"])
def test_jacobians_by_real_arguments(mode):
    found = tape.jacobian(lambda t: np.exp(1j * t), mode=mode)(T)
    assert_close(found, np.diag(1j * np.exp(1j * T)), 1e-15)


def test_jacobians_of_trees_with_both_kinds():
    found = tape.jacobian(lambda p: np.real(p["z"] * p["x"]))({"z": Z, "x": T})
    assert found["x"].dtype == float
    assert_close(found["x"], np.diag(Z.real))
    assert_close(found["z"], np.diag(T))


def test_the_jacobian_of_a_jacobian():
    def first(z: Any) -> Any:
        return tape.jacobian(np.exp, holomorphic=True)(z)

    assert_close(tape.jacobian(first, holomorphic=True)(1j), np.exp(1j))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tape.jacobian(np.exp)(Z), errors.DTypeError, "exp maps complex .* holomorphic=True"),
        (lambda: tape.jacobian(np.conj, holomorphic=True)(Z), errors.DTypeError, "conj.* is not holomorphic"),
        (lambda: tape.jacobian(np.exp, holomorphic=True)(T), errors.DTypeError, "exp is float64.*convert"),
        (lambda: tape.jacobian(np.real, holomorphic=True)(Z), errors.DTypeError, "real is float64"),
        (lambda: tape.jacobian(np.real, mode="fwd")(Z), errors.OptionError, "'fwd' takes two .* Use 'rev'"),
        (
            lambda: tape.jacobian(lambda t: np.exp(1j * t), mode="rev")(T),
            errors.OptionError,
            "'rev' takes two .* Use 'fwd'",
        ),
    ],
)
def test_jacobians_that_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("name", OTHERS)
def test_holomorphic_is_tried_out(name):
    with pytest.raises(errors.DTypeError, match=r"holomorphic=True, and .* is not"):
        tape.jacobian(OTHERS[name], holomorphic=True)(Z)


@pytest.mark.parametrize("size", [1e-200, 1e-12, 1.0, 1e12, 1e200])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_holomorphic_is_tried_out_at_every_scale(size, mode):
    """Relative to the derivative, however small or large that is."""
    for f in (
        np.conj,
        lambda z: z + 1e-3 * np.conj(z),
        lambda z: np.real(z) + 0j,
        lambda z: abs(z) * (1 + 0j),
    ):
        with pytest.raises(errors.DTypeError, match=r"holomorphic=True, and .* is not"):
            tape.jacobian(lambda z, f=f: size * f(z), mode=mode, holomorphic=True)(Z)
    found = tape.jacobian(lambda z: size * (z * z), mode=mode, holomorphic=True)(Z)
    np.testing.assert_allclose(found, size * np.diag(2 * Z), rtol=1e-14)


def test_a_derivative_of_zero_is_holomorphic():
    assert_close(tape.jacobian(lambda z: 0 * z, holomorphic=True)(Z), np.zeros((Z.size, Z.size), complex))


# ---- functions as nodes --------------------------------------------------------------------------


def wrapped_vjp(f: Any, slope: Any) -> Any:
    function = tape.custom_vjp(f)
    function.defvjp(lambda g, out, z: g * slope(z))
    return function


def wrapped_jvp(f: Any, slope: Any) -> Any:
    function = tape.custom_jvp(f)
    function.defjvp(lambda tangents, out, z: tangents[0] * slope(z))
    return function


@pytest.mark.parametrize("wrapped", [wrapped_vjp, wrapped_jvp])
def test_custom_rules(wrapped):
    """Of holomorphic functions, and of real ones with complex values: the real part is taken for them."""
    square = wrapped(lambda z: z * z, lambda z: 2 * z)
    wave = wrapped(lambda t: np.exp(1j * t), lambda t: 1j * np.exp(1j * t))
    for function, plain, x, v in ((square, lambda z: z * z, Z, V), (wave, lambda t: np.exp(1j * t), T, T)):
        assert_close(tape.jvp(function, (x,), (v,))[1], tape.jvp(plain, (x,), (v,))[1], 1e-14)
        pulled, expected = (tape.vjp(f, x)[1](W)[0] for f in (function, plain))
        assert pulled.dtype == x.dtype
        assert_close(pulled, expected, 1e-14)
        assert_close(tape.taylor(function, x, v, 4), tape.taylor(plain, x, v, 4), 1e-13)


def losses(run: Any) -> Any:
    """A real function of a complex state, a real one and a complex number that is closed over."""

    def loss(z: Any, x: Any, w: Any) -> Any:
        def body(state: Any) -> Any:
            z, x = state
            return np.exp(1j * x) * z + w * np.conj(z), x + np.real(z * w)

        z, x = run(body, (z, x))
        return np.sum(np.real(z * np.conj(z))) + np.sum(x)

    return loss


def twice(body: Any, state: Any) -> Any:
    return body(body(state))


RUNS = {
    "checkpoint": lambda body, state: tape.checkpoint(body)(tape.checkpoint(body)(state)),
    "checkpoint_loop": lambda body, state: tape.checkpoint_loop(lambda s, step: body(s), state, 2, 1),
}


@pytest.mark.parametrize("name", RUNS)
def test_checkpoints(name):
    args, moved = (Z, T, 0.3 + 0.2j), (V, T, 1 - 1j)
    found, expected = (tape.grad(losses(run), (0, 1, 2))(*args) for run in (RUNS[name], twice))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert_close(one, other, 1e-13)
    along, expected = (tape.jvp(losses(run), args, moved)[1] for run in (RUNS[name], twice))
    assert_close(along, expected, 1e-13)


@takes_long
def test_differential_equations():
    """A holomorphic one by all it depends on, and one that turns by the conjugate."""

    def turned(z: Any, a: Any) -> Any:
        return tape.odeint(lambda z, t, a: a * z, z, [0.0, 1.0], a, rtol=1e-10, atol=1e-10)[-1]

    a = 0.3 - 1j
    assert_close(turned(Z, a), np.exp(a) * Z, 1e-8)
    by_z, by_a = tape.grad(lambda z, a: np.real(np.sum(turned(z, a))), (0, 1))(Z, a)
    assert_close(by_z, np.full(3, np.exp(a)), 1e-7)
    assert_close(by_a, np.sum(np.exp(a) * Z), 1e-7)
    assert_close(tape.jvp(turned, (Z, a), (V, 1j))[1], np.exp(a) * (V + 1j * Z), 1e-7)
    conjugated = tape.odeint(
        lambda s, t: {"z": np.conj(s["z"]), "x": -s["x"]}, {"z": 1 + 1j, "x": 1.0}, [0.0, 1.0]
    )
    assert_close(conjugated["z"], [1 + 1j, np.e + 1j / np.e], 1e-7)
    assert conjugated["x"].dtype == float
    single = tape.odeint(lambda z, t: 1j * z, np.complex64(1), [0.0, 1.0])
    assert single.dtype == np.complex64


@pytest.mark.parametrize("solver", [None, lambda g, z: np.sqrt(z**2 - g(z))])
def test_roots(solver):
    """The second is one of real and imaginary part only: its equation is not holomorphic."""

    def square_root(a: Any) -> Any:
        return tape.root(lambda z: z * z - a, np.ones(3, complex), solver=solver)

    assert_close(square_root(Z), np.sqrt(Z), 1e-9)
    assert_close(tape.vjp(square_root, Z)[1](V)[0], V / (2 * np.sqrt(Z)), 1e-9)
    assert_close(tape.jvp(square_root, (Z,), (V,))[1], V / (2 * np.sqrt(Z)), 1e-9)

    def fixed(a: Any) -> Any:
        return tape.fixed_point(lambda z: 0.5 * np.conj(z) + a, 0j)

    a = 1 + 2j
    assert_close(fixed(a), 2 * a.real + 1j * a.imag / 1.5, 1e-10)
    assert_close(tape.jvp(fixed, (a,), (3 + 3j,))[1], 6 + 2j, 1e-10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tape.odeint(lambda y, t: 1j * y, 1.0, [0.0, 1.0]),
        lambda: tape.root(lambda x: x * 1j - 1, 1.0),
        lambda: tape.fixed_point(lambda x: x * 0.5j, 1.0),
    ],
)
def test_a_real_start_stays_real(call):
    with pytest.raises(errors.DTypeError, match=r"returned .* where float64 .* start with a complex"):
        call()


def test_times_are_real():
    with pytest.raises(errors.DTypeError, match=r"t is complex128.*It must hold real"):
        tape.odeint(lambda y, t: y, 1.0, [0.0, 1j])


# ---- checks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", {**TO_COMPLEX, **TO_REAL})
def test_derivatives_are_checked_in_all_modes(name):
    tape.testing.check_grads({**TO_COMPLEX, **TO_REAL}[name], (Z,))


@pytest.mark.parametrize("check", [tape.testing.check_vjp, tape.testing.check_jvp, tape.testing.check_grads])
def test_a_wrong_conjugate_is_found(check):
    for wrong in (wrapped_vjp, wrapped_jvp):
        square = wrong(lambda z: z * z, lambda z: 2 * np.conj(z))
        with pytest.raises(
            errors.DerivativeError, match=r"the derivative by args\[0\]\.(real|imag) is wrong"
        ):
            check(lambda z, f=square: {"out": f(z)}, (Z,))


def test_checks_in_single_precision():
    tape.testing.check_grads(lambda z: z * np.exp(z), (Z.astype(np.complex64),))


# ---- power series --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", {**TO_COMPLEX, **TO_REAL})
def test_power_series_are_those_of_the_parts(name):
    """Along a real parameter: it does not matter whether a function is holomorphic."""
    f = {**TO_COMPLEX, **TO_REAL}[name]
    found = tape.taylor(f, Z, V, 5)
    expected = tape.taylor(of_parts(f), parts_of(Z), parts_of(V), 5)
    assert found.dtype == expected.dtype
    assert_close(found, expected, 1e-12)


# ---- programs ------------------------------------------------------------------------------------


def alike(found: Any, expected: Any) -> None:
    """Equal in kind and, to rounding, in value."""
    for one, other in zip(found, expected, strict=True):
        other = other[()] if isinstance(other, np.ndarray) else other  # programs return scalars
        assert (type(one), np.result_type(one)) == (type(other), np.result_type(other))
        assert_close(one, other, 64 * np.finfo(np.result_type(other)).eps)


COMPILED = {
    "arithmetic": lambda z, x: [z * x + 1j, z * z - V, -z / (2 + x), z + T, 1j * x, x * (2 - 1j)],
    "views": lambda z, x: [z[::-1], z[0], z.reshape(3, 1), np.concatenate([z, z * x]), np.stack([z, z])],
    "parts": lambda z, x: [np.real(z), np.imag(z), np.conj(z) * x, np.sum(z), A @ z],
    "constants": lambda z, x: [V, 1j, np.complex128(2j), z, np.full(3, 1j) * x],
    "branches": lambda z, x: [z * 2 if np.sum(z) == 0 else z * 3],
    "gradients": tape.grad(lambda z, x: np.sum(np.real(np.exp(z) * np.conj(z) * x)), (0, 1)),
    "products": lambda z, x: [tape.hvp(lambda z: np.sum(np.real(np.exp(z) * np.conj(z) * x)))(z, z)],
    "jacobians": lambda z, x: [tape.jacobian(lambda z: np.exp(z) * z, holomorphic=True)(z)],
    "series": lambda z, x: [tape.taylor(lambda z: np.exp(z * z), z, z, 3)],
}


@pytest.mark.parametrize("width", [np.float64, np.float32])
@pytest.mark.parametrize("name", COMPILED)
def test_programs(name, width):
    f = COMPILED[name]
    compiled = tape.compile(f)
    for scale in (1.0, 2.0, 3.0):
        z, x = (scale * Z).astype(np.result_type(width, np.complex64)), (scale * T).astype(width)
        alike(compiled(z, x), f(z, x))
        alike(compiled(np.stack([z, z])[:, ::-1].T[::-1, 0], x), f(z, x))  # in another layout
    assert len(compiled.programs) == 1


NUMBERS = {
    "complex": (1 + 2j, -1j),
    "complex128": (np.complex128(1 + 2j), np.complex128(-1j)),
    "complex64": (np.complex64(1 + 2j), np.complex64(-1j)),
    "array": (np.array(1 + 2j), np.array(-1j)),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("x", [1.5, np.float32(1.5), np.ones(2, np.float32), np.ones(2)], ids=repr)
def test_numbers_as_arguments_of_programs(kind, x):
    """A Python number widens nothing, as it does not in eager; it is another one in every call."""
    call = Mock()

    def f(z: Any, x: Any) -> Any:
        call()
        return [z * x, np.exp(1j * x) * z, abs(z) * x, -z + 1, z**2 / x, z, np.sum(x) * z * 2.0]

    compiled = tape.compile(f)
    for z in NUMBERS[kind] * 2:
        found = compiled(z, x)
        assert call.call_count == 1
        expected = f(z, x)
        call.call_count = 1
        alike(found, expected)
    (program,) = compiled.programs.values()
    alike(program(z, x), expected)


def test_powers_that_become_complex_are_refused_in_programs():
    """Python makes them complex for some numbers only."""
    compiled = tape.compile(lambda x: x**0.5)
    with pytest.raises(errors.UnsupportedError, match="is complex, and with other numbers it would be real"):
        compiled(-2.0)
    assert_close(tape.compile(lambda x: x**0.5)(-2 + 0j), (-2 + 0j) ** 0.5, 1e-15)


def test_donated_arrays():
    compiled = tape.compile(lambda z: 2 * z, donate=0)
    compiled(Z.copy())
    for _ in range(2):
        z = Z.copy()
        assert compiled(z) is z
        assert_same(z, 2 * Z)


def test_programs_that_only_pass_complex_numbers_on_can_be_saved(tmp_path):
    compiled = tape.compile(lambda z: [z, V])
    compiled(Z)
    (program,) = compiled.programs.values()
    program.save(tmp_path / "program.tape")
    alike(tape.load(tmp_path / "program.tape")(W), [W, V])


def test_integers_are_no_numbers_to_differentiate_by():
    with pytest.raises(errors.DTypeError, match="Only floats are differentiated"):
        tape.grad(lambda n: np.real(n * 1j))(3)
    assert_close(ops.real(1j * 2), 0.0)


def test_rows_of_complex_numbers_are_written_at_indices():
    def f(z, i, rows):
        z = z.copy()
        z[i] = rows
        return z * 2

    rng, compiled = np.random.default_rng(7), tape.compile(f)
    for k in range(3):
        z, rows = rng.normal(size=(4, 3)) + 1j, rng.normal(size=(2, 3)) * 1j
        np.testing.assert_array_equal(compiled(z, np.array([3, k]), rows), f(z, np.array([3, k]), rows))


def test_products_of_no_complex_vectors():
    compiled = tape.compile(lambda a, b: np.vecdot(a, b))
    for _ in range(3):
        assert compiled(np.ones((1, 3)) * 1j, np.ones((0, 3)) * 1j).shape == (0,)
