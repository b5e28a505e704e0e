"""The examples of statistics, finance and physics: figures that others have published, and closed forms."""

import sys
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import tape
import tape.scipy
from tests.tiers import some, takes_long

pytest.importorskip("matplotlib", reason="the examples need matplotlib")
pytest.importorskip("sklearn", reason="the examples need scikit-learn")

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "examples"))  # a script finds its neighbours; so must one that is imported

NAMES = [
    "bayesian_regression", "bundle_adjustment", "gaussian_process", "heat_source", "hidden_markov", "kalman",
    "neural_ode", "option_greeks", "pinn", "variational",
]  # fmt: skip
(
    bayesian_regression, bundle_adjustment, gaussian_process, heat_source, hidden_markov, kalman, neural_ode,
    option_greeks, pinn, variational,
) = (import_module(f"examples.{name}") for name in NAMES)  # fmt: skip


def the_posterior_is_the_one_of_the_closed_form():
    """Given the noise the weights are normal."""
    regression = bayesian_regression
    compiled = tape.compile(tape.value_and_grad(regression.log_density))
    draws, accepted = regression.sample(compiled, np.zeros(11), np.random.default_rng(0))
    assert accepted > 0.6
    weights, log_noise = regression.weights_and_log_noise(draws)
    noise = np.exp(log_noise).mean()
    precision = regression.X.T @ regression.X / noise**2 + np.eye(10) / regression.PRIOR**2
    mean = np.linalg.solve(precision, regression.X.T @ regression.Y / noise**2)
    spread = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.all(np.abs(weights.mean(0) - mean) < 0.15 * spread)
    np.testing.assert_allclose(weights.std(0), spread, rtol=0.1)


def the_variances_of_the_nile_are_those_of_the_book():
    """Durbin and Koopman, "Time Series Analysis by State Space Methods", 2012, section 2.10.3."""
    found = kalman.fit()
    noise, drift = np.exp(found.x)
    assert noise == pytest.approx(15099, abs=1)
    assert drift == pytest.approx(1469.1, abs=0.2)
    assert -found.fun == pytest.approx(-632.54, abs=0.01)


def test_greeks_of_black_and_scholes():
    price, volatility, rate, years = 110.0, 0.25, 0.03, 0.7
    d = (np.log(price / 100) + (rate + volatility**2 / 2) * years) / (volatility * np.sqrt(years))
    below = d - volatility * np.sqrt(years)
    discounted = 100 * np.exp(-rate * years)
    value, greeks = tape.value_and_grad(option_greeks.black_scholes, argnums=(0, 1, 2, 3))(
        price, volatility, rate, years
    )
    assert value == pytest.approx(price * norm.cdf(d) - discounted * norm.cdf(below), rel=1e-13)
    vega = price * norm.pdf(d) * np.sqrt(years)
    rho = years * discounted * norm.cdf(below)
    loss = vega * volatility / (2 * years) + rate * discounted * norm.cdf(below)
    np.testing.assert_allclose(greeks, [norm.cdf(d), vega, rho, loss], rtol=1e-12)


def test_the_price_of_heston_is_the_published_one():
    """Fang and Oosterlee 2008, table 4, who give eight digits that hold."""
    assert option_greeks.heston(100.0, option_greeks.HESTON) == pytest.approx(5.785155450, abs=2e-8)


def the_likelihood_of_the_process_is_that_of_scikit_learn():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    found = gaussian_process.fit()
    height, length, noise = np.exp(found.x)
    kernel = ConstantKernel(height**2) * RBF(length) + WhiteKernel(noise**2)
    theirs = GaussianProcessRegressor(kernel, optimizer=None)
    theirs.fit(gaussian_process.X[:, None], gaussian_process.Y)
    value, slope = theirs.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    assert -found.fun == pytest.approx(value, rel=1e-12)
    assert np.max(np.abs(slope)) < 1e-3
    at = np.linspace(-1, 11, 20)
    mean, spread = gaussian_process.predict(np.exp(found.x), at)
    expected, deviation = theirs.predict(at[:, None], return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-8)
    np.testing.assert_allclose(spread**2 + noise**2, deviation**2, rtol=1e-7)


def the_rod_is_found():
    found = heat_source.fit(heat_source.measured())
    np.testing.assert_allclose(found.x, heat_source.TRUTH, atol=0.04)
    assert np.sqrt(np.mean(found.fun**2)) == pytest.approx(0.002, rel=0.1)  # the noise of the sensors


def the_network_solves_the_equation():
    found = pinn.solve()
    at = np.linspace(0, 1, 101)
    values = tape.vmap(lambda x: pinn.network(found.x, x))(at)
    np.testing.assert_allclose(values, pinn.truth(at), atol=1e-3)


def the_swing_is_learned():
    example = neural_ode
    seen = tape.odeint(example.pendulum, example.START, example.TIMES)
    _, losses = example.fit(seen)
    assert losses[-1] < 0.02 < losses[0]


def the_bound_is_the_largest_one():
    """Of normal distributions it has a closed form."""

    def bound(params):
        (mean, low), (spread, narrow) = params[0], np.exp(params[1])
        prior = -np.log(2 * np.pi * 1.35) - low - (low**2 + narrow**2) / (2 * 1.35**2)
        likelihood = -(mean**2 + spread**2) / 2 * np.exp(2 * narrow**2 - 2 * low)
        return prior + likelihood + np.sum(params[1]) + np.log(2 * np.pi * np.e)

    best = tape.scipy.minimize(lambda params: -bound(params), np.zeros((2, 2)), method="BFGS")
    params, bounds = variational.fit()
    assert bound(params) == pytest.approx(-best.fun, abs=0.02)
    assert bounds[-500:].mean() == pytest.approx(bound(params), abs=0.05)


def the_quiet_and_the_restless_earth_are_those_of_the_book():
    """Zucchini, MacDonald and Langrock, "Hidden Markov Models for Time Series", 2016, section 3."""
    found = hidden_markov.fit(2)
    assert -found.fun == pytest.approx(-342.3183, abs=1e-4)
    np.testing.assert_allclose(np.exp(found.x["log_rates"]), [15.472, 26.125], atol=1e-3)
    changes = np.exp(hidden_markov.parts(found.x)[1])
    np.testing.assert_allclose(changes, [[0.934, 0.066], [0.1285, 0.8715]], atol=1e-4)
    found = hidden_markov.fit(3)
    assert -found.fun == pytest.approx(-329.4603, abs=1e-4)
    np.testing.assert_allclose(np.exp(found.x["log_rates"]), [13.146, 19.721, 29.714], atol=1e-3)


def test_the_forward_algorithm_sums_over_all_paths():
    """Beside brute force, and so its gradient, the posterior of the states."""
    rng, years, states = np.random.default_rng(0), 5, 3
    first, changes = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    emissions = rng.uniform(0.1, 1, (years, states))
    total, passing = 0.0, np.zeros((years, states))
    for path in product(range(states), repeat=years):
        steps = [changes[pair] for pair in pairwise(path)]
        weight = first[path[0]] * np.prod(steps) * np.prod(emissions[np.arange(years), path])
        total += weight
        passing[np.arange(years), path] += weight
    logs = [np.log(part) for part in (first, changes, emissions)]
    value, slope = tape.value_and_grad(hidden_markov.log_likelihood, argnums=2)(*logs)
    assert value == pytest.approx(np.log(total), rel=1e-13)
    np.testing.assert_allclose(slope, passing / total, rtol=1e-12)


def the_scene_is_found_to_the_noise():
    """What is left of the squared errors is distributed as chi squared with a known number of degrees."""
    made = bundle_adjustment.scene()
    found = bundle_adjustment.fit(made)
    expected = bundle_adjustment.expected_error(made)
    freedom = made.pixels.size * expected**2
    assert 2 * found.cost == pytest.approx(freedom, abs=3 * np.sqrt(2 * freedom))
    truth = bundle_adjustment.unknowns_of(made)
    sizes = [np.linalg.norm(points - points.mean(0)) for points in (truth["points"], found.x["points"])]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.1)  # nearly the scale of the start: nobody knows it
    assert found.nfev < 20


def test_the_sparse_jacobian_of_a_scene_is_the_dense_one():
    made = bundle_adjustment.scene(cameras=4, points=7)
    truth = bundle_adjustment.unknowns_of(made)
    sparse = tape.sparse_jacobian(bundle_adjustment.errors)(truth, made)
    dense = tape.jacobian(bundle_adjustment.errors)(truth, made)
    wanted = np.concatenate([dense[key].reshape(made.pixels.size, -1) for key in truth], axis=1)
    np.testing.assert_allclose(sparse.toarray(), wanted, rtol=1e-11, atol=1e-9)
    assert sparse.nnz <= made.pixels.size * 9


FITTED = {
    "kalman": the_variances_of_the_nile_are_those_of_the_book,
    "heat_source": the_rod_is_found,
    "pinn": the_network_solves_the_equation,
    "variational": the_bound_is_the_largest_one,
    "neural_ode": the_swing_is_learned,
    "gaussian_process": the_likelihood_of_the_process_is_that_of_scikit_learn,
    "bayesian_regression": the_posterior_is_the_one_of_the_closed_form,
    "hidden_markov": the_quiet_and_the_restless_earth_are_those_of_the_book,
    "bundle_adjustment": the_scene_is_found_to_the_noise,
}


@takes_long
@pytest.mark.parametrize("name", some(FITTED, every=3))
def test_what_is_fitted_is_known_from_elsewhere(name):
    FITTED[name]()


@pytest.mark.parametrize("name", some(["option_greeks", *FITTED], every=6))
def test_figures_are_printed_and_the_picture_is_written(name, capsys, tmp_path):
    path = tmp_path / "drawn.png"
    import_module(f"examples.{name}").main(["--output", str(path)])
    printed = capsys.readouterr().out
    figures = {
        "kalman": ["15099", "-632.5"],
        "option_greeks": ["7.171279", "5.785155"],
        "gaussian_process": ["1.9540", "-16.929134"],
        "hidden_markov": ["-342.3183", "13.146 19.721 29.714"],
        "bundle_adjustment": ["720 errors of 222 unknowns", "0.416 expected"],
        "heat_source": ["truth 1.000 1.000 0.900 0.300"],
    }
    for figure in figures.get(name, []):
        assert figure in printed
    assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
