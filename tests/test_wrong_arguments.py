"""A wrong argument is an error that names the function, or one that NumPy or SciPy raise of the same class.

Each function is called as in its sample call or in its line of the table of operations, with one argument
replaced by something wrong: on plain arrays, and on Vars within a gradient.
"""

import ast
from functools import cache
from importlib import import_module
from itertools import chain

import numpy as np
import pytest
import scipy.special

import tape
from tape import errors, ops
from tape.inspect.samples import SAMPLES
from tape.support.samples import arguments, data
from tests.op_table import CASES, batched
from tests.tiers import some, takes_long

NONSENSE = "nonsense"
MODULES = ("integrate", "interpolate", "ndimage", "optimize", "signal", "sparse", "spatial")
DISTRIBUTIONS = {
    "norm": "x, 0.3, 1.5", "t": "x, 2.5", "gamma": "x, 2.5", "beta": "x, 2.5, 1.5", "chi2": "x, 2.5",
    "expon": "x, 0.1", "lognorm": "x, 0.7", "laplace": "x, 0.3", "logistic": "x, 0.3",
    "uniform": "x, 0.1, 2.0",
    "cauchy": "x, 0.3", "weibull_min": "x, 1.5", "pareto": "1 + x, 1.5", "truncnorm": "x, -1.0, 2.0",
    "vonmises": "x, 1.5",
}  # fmt: skip
MORE = [
    *(f"tape.scipy.stats.{name}.{method}({given})" for name, given in DISTRIBUTIONS.items()
      for method in ("logpdf", "cdf", "sf")),
    "tape.scipy.stats.poisson.logpmf(n, u)",
    "tape.scipy.stats.binom.logpmf(n, 5, u)",
    "tape.scipy.stats.multivariate_normal.logpdf(u, w, h)",
    "tape.scipy.stats.multivariate_t.logpdf(u, w, h, 3.0)",
    "tape.scipy.stats.dirichlet.logpdf(u / np.sum(u), 1 + w)",
    "tape.scipy.stats.wishart.logpdf(h, 5, s @ s.T)",
    "tape.scipy.optimize.minimize(lambda p: np.sum((p - 1) ** 2), u, method='BFGS', tol=1e-8)",
    "tape.scipy.optimize.least_squares(lambda p: p - 1, u)",
    "tape.scipy.optimize.curve_fit(lambda t, a: a * t, u, w, 1.0)",
    "tape.scipy.optimize.root(lambda p: p - 1, u)",
    "tape.scipy.optimize.fsolve(lambda p: p - 1, u)",
    "tape.scipy.optimize.fixed_point(np.cos, c)",
    "tape.scipy.optimize.nnls(s, u)",
    "tape.scipy.optimize.lsq_linear(s, u)",
    "tape.scipy.optimize.linprog(u, -np.eye(3), -w)",
    "tape.scipy.optimize.minimize_scalar(lambda t: (t - 1) ** 2, bounds=(0.0, 3.0))",
    "tape.scipy.optimize.root_scalar(lambda t, a: t - a, (c,), bracket=(0.0, 3.0))",
    *(f"tape.scipy.optimize.{name}(lambda t, a: t - a, 0.0, 3.0, (c,))" for name in
      ("bisect", "brenth", "brentq", "ridder", "toms748")),
    "tape.scipy.optimize.newton(lambda t, a: t - a, 0.5, None, (c,))",
    "tape.scipy.integrate.quad(lambda t, a: a * t, 0.0, c, (c,))",
    "tape.scipy.integrate.fixed_quad(lambda t, a: a * t, 0.0, c, (c,), 3)",
    "tape.scipy.integrate.quad_vec(lambda t: t * np.ones(2), 0.0, c)",
    "tape.scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), u, method='RK45', t_eval=[0.5, 1.0])",
    "tape.scipy.integrate.odeint(lambda y, t: -y, u, v)",
    "tape.scipy.integrate.romb(u, c)",
    "tape.scipy.interpolate.PchipInterpolator(np.arange(3.0), u, 0)",
    "tape.scipy.interpolate.Akima1DInterpolator(np.arange(3.0), u, 0)",
    "tape.scipy.interpolate.CubicHermiteSpline(np.arange(3.0), u, w)",
    "tape.scipy.interpolate.PPoly(x, np.arange(5.0))",
    "tape.scipy.interpolate.RegularGridInterpolator((np.arange(3.0), np.arange(4.0)), x, 'linear')",
    "tape.scipy.interpolate.interpn((np.arange(3.0), np.arange(4.0)), x, y[:, :2])",
    "tape.scipy.interpolate.make_interp_spline(np.arange(3.0), u, 2)",
    "tape.nn.Linear(4, 3, rng=np.random.default_rng(0))",
    "tape.nn.Conv1d(2, 3, 2, rng=np.random.default_rng(0))",
    "tape.nn.ConvTranspose1d(2, 3, 2, rng=np.random.default_rng(0))",
    "tape.nn.GroupNorm(2, 4)",
    "tape.nn.Embedding(3, 4, rng=np.random.default_rng(0))",
    "tape.nn.Dropout(0.5)",
    "tape.nn.MaxPool1d(2)",
    "tape.nn.MultiHeadAttention(4, 2, rng=np.random.default_rng(0))",
    "tape.nn.LSTM(2, 3, rng=np.random.default_rng(0))",
]  # fmt: skip
"""Calls of what the tables do not have."""

CRASHES = {
    ("scipy.linalg.lu_solve", "[1] NaN"): "it reads the places of rows from memory that is not theirs",
    ("scipy.special.lmbda", "NaN"): "it counts orders from a number that is none",
    ("scipy.spatial.distance.squareform", "objects"): "it copies them without counting them",
}
"""Wrong arguments that end the process in SciPy, and are not given to it."""
WRITES_FILES = {"save", "savez", "savez_compressed", "savetxt"}
ELSEWHERE = {
    **dict.fromkeys(
        ["tape.ops.apply_along_axis", "tape.ops.piecewise", "tape.scipy.integrate.fixed_quad",
         "tape.scipy.integrate.quad", "tape.scipy.optimize.curve_fit", "tape.scipy.optimize.fixed_point"],
        "the error is of what the function calls that it is given",
    ),
    **dict.fromkeys(
        [f"tape.scipy.optimize.{name}" for name in ("root_scalar", "bisect", "brenth", "brentq", "ridder")],
        "SciPy's C code goes on after the error of the function that it is given",
    ),
    "np.full_like": "it is np.copyto that NumPy itself calls then, with a Var to write",
    "np.fill_diagonal": "NumPy itself writes the Var, into a plain array",
    **dict.fromkeys(
        ["scipy.special.elliprd", "scipy.special.elliprf", "scipy.special.elliprg", "tape.ops.histogram",
         "tape.scipy.linalg.rsf2csf", "tape.scipy.linalg.sqrtm"],
        "the error is of the sweep: of a derivative that is not defined there",
    ),
    "tape.scipy.integrate.odeint": "of no times NumPy's own error is raised",
}  # fmt: skip
"""Functions whose error names another one, or is of another class, and why."""
ACCEPTED = {
    **dict.fromkeys(
        [f"tape.scipy.linalg.{name}" for name in
         ("inv", "pinv", "pinvh", "det", "lu", "qr", "rq", "svd", "svdvals", "polar", "eigvals", "logm",
          "signm",
          "fractional_matrix_power", "cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm", "schur", "hessenberg",
          "orth", "null_space", "expm_cond", "qr_insert", "eigvals_banded", "solveh_banded", "hankel",
          "convolution_matrix", "matmul_toeplitz")],
        "a vector is a matrix of one row, and a number one of one element",
    ),
    **dict.fromkeys(
        [f"tape.scipy.linalg.{name}" for name in ("cholesky", "cho_solve", "eig_banded")],
        "of lower only the truth counts; a vector is a matrix of one row",
    ),
    **dict.fromkeys(
        ["np.polyder", "np.polyint", "tape.ops.polyder", "tape.ops.polyint", "tape.ops.poly",
         "tape.ops.roots",
         "tape.ops.linalg.tensorinv", "tape.ops.apply_over_axes", "tape.ops.astype",
         "tape.scipy.spatial.distance.jensenshannon"],
        "a number is an array",
    ),
    **dict.fromkeys(
        ["tape.ops.special.polygamma", "tape.ops.polyfit", "tape.scipy.integrate.cumulative_simpson",
         "tape.scipy.linalg.solve", "tape.scipy.special.diric", "tape.scipy.signal.csd",
         "tape.scipy.sparse.linalg.spsolve"],
        "complex numbers, or several columns, are right there",
    ),
    **dict.fromkeys(
        ["tape.ops.diff", "tape.ops.nansum", "tape.ops.nanprod", "tape.ops.nanvar", "tape.ops.nanstd"],
        "None is the default",
    ),
    **dict.fromkeys(
        ["np.take", "tape.ops.take", "tape.scipy.optimize.fsolve", "tape.scipy.signal.sosfilt",
         "tape.scipy.stats.wishart.logpdf", "tape.scipy.signal.detrend"],
        "of nothing there is nothing to do",
    ),
    **dict.fromkeys(
        ["tape.scipy.optimize.minimize", "tape.scipy.optimize.least_squares"],
        "the unknowns may be a tree of arrays of any shape",
    ),
    **dict.fromkeys(
        ["tape.ops.pad", "tape.ops.interp", "tape.scipy.integrate.quad"],
        "an array of one element is a number, and what broadcasts is broadcast",
    ),
    "tape.scipy.optimize.newton": "a number is a tuple of one",
}  # fmt: skip
"""What takes arguments that NumPy or SciPy refuse, and why. NaN is taken everywhere: nothing looks for it."""


# ---- calls -----------------------------------------------------------------------------------------


def of_text(text):
    """The arguments of the function in a call that is written as an expression."""
    env = {**data(), **arguments(), "tape": tape, "scipy": scipy}
    name = text.partition("(")[0]
    call = next(
        node
        for node in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    )
    return (
        [eval(ast.unparse(argument), env) for argument in call.args],
        {keyword.arg: eval(ast.unparse(keyword.value), env) for keyword in call.keywords},
    )


class Called(BaseException):
    """Ends a call whose arguments are known."""


def of_case(name, case, monkeypatch):
    """The arguments of the function in a case of the table."""
    found = []

    def note(*args, **kwargs):
        found.extend([list(args), kwargs])
        raise Called

    with monkeypatch.context() as patch:
        patch.setattr(resolved(name.rpartition(".")[0]), name.rpartition(".")[2], note)
        with pytest.raises(Called):
            case.on(ops)(*case.args())
    return found


@cache
def texts():
    """The call of each function with a sample, by the name of the function: in NumPy and in `tape`."""
    found = dict(SAMPLES)
    for name, text in SAMPLES.items():
        if name.startswith("np."):
            found[f"tape.numpy.{name[3:]}"] = f"tape.numpy.{text[3:]}"
        elif name.startswith("scipy.special."):
            found[f"tape.{name}"] = f"tape.{text}"
    found |= {text.partition("(")[0]: text for text in MORE}
    return {
        name: text
        for name, text in found.items()
        if exists(name) and name.rpartition(".")[2] not in WRITES_FILES
    }


@cache
def cases():
    """The case with the most arguments of each function that has no sample, by its name."""
    tables = (import_module(f"tests.op_table.scipy_{name}") for name in MODULES)
    groups = {}
    for case in chain(CASES, *(getattr(table, "ALL", ()) for table in tables)):
        name = f"tape.{'' if case.op.startswith('scipy.') else 'ops.'}{case.op}"
        if not case.op.startswith("stats.") and name not in texts() and exists(name):
            groups.setdefault(name, []).append(case)
    return {
        name: max(group, key=lambda case: (len(case.arguments), case.size)) for name, group in groups.items()
    }


def exists(name):
    try:
        return callable(resolved(name))
    except AttributeError:
        return False


def resolved(name):
    """What a dotted name stands for."""
    first, _, rest = name.partition(".")
    found = {"tape": tape, "np": np, "scipy": scipy}[first]
    for part in filter(None, rest.split(".")):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = import_module(f"{found.__name__}.{part}")
            except ImportError:
                raise AttributeError(name) from None
    return found


PLACES = {
    "tape.numpy.": "np.", "tape.ops.special.": "scipy.special.", "tape.ops.nn.": None, "tape.ops.": "np.",
    "tape.nn.": None, "tape.scipy.": "scipy.", "np.": "np.", "scipy.": "scipy.",
}  # fmt: skip


def original_of(name):
    """The function of NumPy or SciPy with that name; None if there is none."""
    start = next((start for start in PLACES if name.startswith(start)), None)
    original = start and PLACES[start] and PLACES[start] + name.removeprefix(start)
    return resolved(original) if original and exists(original) else None


# ---- what is wrong ---------------------------------------------------------------------------------


def wrong_values(value):
    """Yield what is wrong and a wrong value, for an argument."""
    if isinstance(value, np.floating) or (isinstance(value, np.ndarray) and value.dtype.kind in "fciub"):
        yield from wrong_arrays(np.asarray(value))
    elif isinstance(value, (list, tuple)):
        for other in (-7, 2.5, NONSENSE, None, (), [NONSENSE]):
            yield repr(other), other
        for k, part in enumerate(value):
            for what, other in wrong_values(part):
                yield f"[{k}] {what}", type(value)([*value[:k], other, *value[k + 1 :]])
    elif isinstance(value, (bool, int, float, complex, np.generic, str)):
        for other in (-7, 2.5, NONSENSE, None):
            yield repr(other), other
    else:
        for other in (-7, NONSENSE, None):
            yield repr(other), other


def wrong_arrays(x):
    yield "text", NONSENSE
    yield "None", None
    yield "number", 2.5
    yield "complex", x * (1 + 0.5j)
    yield "axis before", x[np.newaxis]
    yield "axis behind", x[..., np.newaxis]
    yield "ints", np.arange(35).reshape(5, 7)
    yield "objects", x.astype(object)
    yield "empty", np.zeros(0)
    yield "NaN", x * np.nan
    if x.ndim and len(x):
        yield "axis less", x[0]
        yield "longer", np.concatenate([x, x[..., :1]], -1)
        yield "shorter", x[..., :-1]
    if x.dtype.kind in "iu":
        yield "fractions", x + 0.5


def wrong_calls(args, kwargs):
    """Yield which argument is wrong and how, and the arguments with it."""
    for k, value in enumerate(args):
        for what, other in wrong_values(value):
            yield k, what, [*args[:k], other, *args[k + 1 :]], kwargs
    for key, value in kwargs.items():
        for what, other in wrong_values(value):
            yield key, what, args, {**kwargs, key: other}
    yield NONSENSE, "keyword", args, {**kwargs, NONSENSE: 1}


# ---- outcomes --------------------------------------------------------------------------------------


def mapped(f, value):
    """Arguments with each array of floats replaced by what a function returns for it."""
    if type(value) in (list, tuple):
        return type(value)(mapped(f, part) for part in value)
    if type(value) is dict:
        return {key: mapped(f, part) for key, part in value.items()}
    is_array = isinstance(value, (np.ndarray, np.inexact)) and value.dtype.kind in "fc"
    return f(value) if is_array else value


def on_arrays(function, args, kwargs):
    args, kwargs = mapped(lambda x: np.copy(x)[()], [args, kwargs])
    return function(*args, **kwargs)


def on_vars(function, args, kwargs):
    """Call a function within a gradient of the sum of its results; all arrays of floats are Vars."""
    params = []
    mapped(params.append, [args, kwargs])

    def total(*params):
        given = map(ops.copy, params)  # into which functions may write
        args_of_vars, kwargs_of_vars = mapped(lambda x: next(given), [args, kwargs])
        results = tape.tree.leaves(function(*args_of_vars, **kwargs_of_vars))
        return sum(
            (np.sum(np.real(x)) for x in results if isinstance(x, tape.Var) and x.dtype.kind in "fc"), 0.0
        )

    if not params:
        on_arrays(function, args, kwargs)
    else:
        tape.grad(total, tuple(range(len(params))))(*params)


def error_of(call, *given):
    try:
        call(*given)
    except Exception as error:
        return error
    return None


def complaint(name, what, error, expected, has_original):
    """What is wrong with the outcome of a wrong call; None if nothing is."""
    if error is None:
        is_refused = has_original and expected is not None and "NaN" not in what
        return "is taken" if is_refused and name not in ACCEPTED else None
    if isinstance(error, errors.TapeError):
        return None if name in ELSEWHERE or any(n in str(error) for n in names_of(name)) else "names another"
    is_alike = isinstance(error, type(expected)) or isinstance(expected, type(error))
    is_of_python = isinstance(error, TypeError) and "unexpected keyword argument" in str(error)
    return None if is_alike or is_of_python or name in ELSEWHERE else "is another error"


@cache
def names_of(name):
    """The last part of the name of a function, and of the others that it has."""
    function, short = resolved(name), name.rpartition(".")[2]
    return {short, getattr(function, "__name__", short), getattr(function, "name", short)}


NAMES = [*texts(), *cases()]
CHOSEN = some(NAMES, every=9)


@takes_long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", list(batched(CHOSEN, 40)), ids=lambda names: names[0])
def test_wrong_arguments_are_errors_that_name_the_function(names, monkeypatch):
    wrong = []
    for name in names:
        function, original = resolved(name), original_of(name)
        args, kwargs = (
            of_text(texts()[name]) if name in texts() else of_case(name, cases()[name], monkeypatch)
        )
        ways = [] if name.startswith(("np.", "scipy.")) else [on_arrays]
        ways += [] if name.startswith(("tape.numpy.", "tape.scipy.special.")) else [on_vars]
        for which, what, *given in wrong_calls(args, kwargs):
            crashes = (name.removeprefix("tape."), what) in CRASHES
            with np.errstate(all="ignore"):
                expected = error_of(on_arrays, original, *given) if original and not crashes else None
                for way in [on_vars] if crashes else ways:
                    error = error_of(way, function, *given)
                    found = complaint(name, what, error, expected, original is not None)
                    if found:
                        wrong.append((name, which, what, way.__name__, found, repr(error), repr(expected)))
    assert not wrong
