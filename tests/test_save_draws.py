"""Programs that draw random numbers, in files: they draw what Python would, and no file does harm."""

import copy
import json
import pickle
import random
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tape
from tape import errors, nn
from tape.core.bit_states import KINDS, set_state, state_of
from tape.program.files.types import number_entry, number_of
from tape.random import Generator, default_rng
from tape.random._files import _METHODS
from tests import mutated_files
from tests.mutated_files import at_place, check_harmless, parts_of, places_in, replaced, zipped
from tests.oracles import assert_close
from tests.test_random_numbers import same_state
from tests.tiers import rounds, takes_long

X = np.array([1.0, 2.0, 4.0])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "program.tape"


def only(compiled):
    (program,) = compiled.programs.values()
    return program


def through(path, program):
    program.save(path)
    return tape.load(path)


# ---- the same numbers as Python ------------------------------------------------------------------------


def several(x, rng):
    z = rng.normal(x, 2.0)
    return {"z": z, "k": rng.integers(9, size=2), "p": rng.permutation(x)}, rng.random(dtype=np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_that_is_an_argument_moves_on_as_in_python(path, kind):
    make = lambda: Generator(getattr(np.random, kind)(5))  # noqa: E731
    compiled = tape.compile(several)
    compiled(X, make())
    loaded = through(path, only(compiled))
    mine, plain = make(), make()
    for x in (X, 2 * X, X):
        found, expected = loaded(x, mine), several(x, plain)
        assert list(found[0]) == ["z", "k", "p"]
        for name, value in expected[0].items():
            assert_close(found[0][name], value, 1e-15)
        assert found[1] == expected[1]
        assert type(found[1]) is type(expected[1])
        assert same_state(mine, plain)


def test_a_generator_that_is_closed_over_goes_on_from_its_state_when_saved(path):
    rng = default_rng(3)
    f = lambda x: x * rng.normal(size=3) + rng.random()  # noqa: E731
    compiled = tape.compile(f)
    compiled(X)
    before = copy.deepcopy(rng)
    loaded = through(path, only(compiled))
    expected = [X * before.normal(size=3) + before.random() for _ in range(3)]
    assert_close([loaded(X) for _ in range(3)], expected, 1e-15)
    assert_close(compiled(X), expected[0], 1e-15)  # whose generator is another one
    assert_close(tape.load(path)(X), expected[0], 1e-15)  # the file begins there each time
    twin = copy.deepcopy(loaded)
    assert_close(twin(X), loaded(X), 1e-15)
    assert_close(pickle.loads(pickle.dumps(loaded))(X), loaded(X), 1e-15)


NUMBERS = [
    np.float32(0.1), np.float64(-0.0), np.float16(0.5), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True),
    np.complex64(1 - 2j), 0.1, 2, True, 2**70,
]  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_of_numpy_and_of_python_come_back_as_they_were(number):
    found = number_of(json.loads(json.dumps(number_entry(number))))
    assert (type(found), repr(found)) == (type(number), repr(number))


@pytest.mark.parametrize("number", [None, "1", 1j, np.str_("1"), np.datetime64("2020"), 2**4096])
def test_what_is_no_number_of_files_is_refused(number):
    with pytest.raises(errors.UnsupportedError, match="is no number that files can hold"):
        number_entry(number)


@pytest.mark.parametrize("mean", [np.float32(0.1), np.int8(3), np.float64(0.1), 0.1])
def test_a_parameter_that_is_a_number_is_that_of_the_function(path, mean):
    f = lambda x, rng: x * rng.normal(mean, 2.0, 3) + rng.normal(x, mean)  # noqa: E731
    compiled = tape.compile(f)
    compiled(X, default_rng(1))
    loaded = through(path, only(compiled))
    assert_close(loaded(X, default_rng(3)), f(X, default_rng(3)), 1e-15)


def test_a_program_cannot_return_the_generator_that_its_function_closes_over():
    rng = default_rng(3)
    compiled = tape.compile(lambda x: (x * rng.random(), rng))
    assert compiled(X)[1] is rng
    with pytest.raises(errors.UnsupportedError, match="returns a generator that its function closes over"):
        only(compiled)(X)


def test_programs_that_draw_are_called_like_the_function_without_a_file():
    closed, rng = default_rng(1), default_rng(2)
    f = tape.compile(lambda x, rng: x * rng.random() + closed.random())
    f(X, default_rng(0))
    program, closed_plain, plain = only(f), copy.deepcopy(closed), default_rng(2)
    for _ in range(3):
        assert_close(program(X, rng), X * plain.random() + closed_plain.random(), 1e-15)
    assert same_state(closed, closed_plain)
    assert same_state(rng, plain)


def test_several_generators_are_told_apart(path):
    """Two among the arguments, one of them twice, one by keyword in a tree, one that is closed over."""
    closed = default_rng(9)

    def f(x, a, b, again, *, state):
        return x * a.random() + b.random() + again.random(), closed.normal() + state["rng"].random()

    make = lambda k: Generator(np.random.Philox(k) if k % 2 else np.random.PCG64(k))  # noqa: E731
    compiled, (a, b, c) = tape.compile(f), (make(k) for k in range(3))
    compiled(X, a, b, a, state={"rng": c})
    reference = copy.deepcopy(closed)
    loaded = through(path, only(compiled))
    a, b, c, d, e, g = (make(k) for k in (0, 1, 2, 0, 1, 2))
    for _ in range(3):
        found = loaded(X, a, b, a, state={"rng": c})
        assert_close(found[0], X * d.random() + e.random() + d.random(), 1e-15)
        assert_close(found[1], reference.normal() + g.random(), 1e-15)
    assert all(map(same_state, (a, b, c), (d, e, g)))
    for wrong in ((a, b, c), (a, b, b), (a, a, a)):
        with pytest.raises(errors.OptionError):
            loaded(X, *wrong, state={"rng": make(4)})
    with pytest.raises(errors.OptionError, match="3 different generators"):
        loaded(X, a, b, a, state={"rng": a})
    other = make(3)
    with pytest.raises(errors.OptionError, match=r"Generator\(Philox\).*for Generator\(PCG64\) only"):
        loaded(X, other, b, other, state={"rng": c})
    with pytest.raises(errors.TapeError):
        loaded(X, a, b, 3.0, state={"rng": c})
    assert all(map(same_state, (a, b, c), (d, e, g)))  # a call that fails draws nothing


def test_a_generator_that_is_closed_over_and_an_argument_is_the_argument(path):
    rng = default_rng(4)
    compiled = tape.compile(lambda x, other: x * rng.random() + other.random())
    compiled(X, default_rng(0))
    compiled(X, rng)
    programs = list(compiled.programs.values())
    assert len(programs) == 2
    (aliased,) = [program for program in programs if len(program.generators.kinds) == 1]
    mine, plain = default_rng(6), default_rng(6)
    loaded = through(path, aliased)
    for _ in range(2):
        assert_close(loaded(X, mine), X * plain.random() + plain.random(), 1e-15)
    with pytest.raises(errors.OptionError):
        aliased(X, mine)  # in this process it draws from the one that is closed over


def test_loops_and_derivatives_of_draws(path):
    def f(w, rng):
        def loss(w):
            def step(c, _):
                return np.tanh(c * w + rng.normal(w, 0.1)), rng.integers(5)

            return np.sum(tape.scan(step, w, length=4)[0]) + rng.random()

        return tape.value_and_grad(loss)(w)

    compiled = tape.compile(f)
    compiled(X, default_rng(0))
    loaded = through(path, only(compiled))
    mine, plain = default_rng(8), default_rng(8)
    for _ in range(3):
        for found, expected in zip(loaded(X, mine), f(X, plain), strict=True):
            assert_close(found, expected, 1e-13)


def test_draws_of_each_example(path):
    f = lambda x, rng: tape.vmap(lambda a: a * rng.normal(size=2) + rng.choice(5, 2))(x)  # noqa: E731
    compiled = tape.compile(f)
    compiled(X, default_rng(0))
    loaded, mine, plain = through(path, only(compiled)), default_rng(8), default_rng(8)
    for _ in range(2):
        assert_close(loaded(X, mine), f(X, plain), 1e-15)


def test_a_generator_that_is_made_inside_draws_the_same_in_each_call(path):
    compiled = tape.compile(lambda x: x + default_rng(7).random())
    compiled(X)
    loaded = through(path, only(compiled))
    assert_close([loaded(X), loaded(X)], [X + default_rng(7).random()] * 2, 1e-15)


def test_an_error_leaves_generators_as_they_were(path):
    compiled = tape.compile(lambda a, rng: np.linalg.inv(a) * rng.random())
    compiled(np.eye(2), default_rng(0))
    loaded, rng = through(path, only(compiled)), default_rng(1)
    with pytest.raises(errors.SingularMatrixError):
        loaded(np.zeros((2, 2)), rng)
    assert same_state(rng, default_rng(1))


@dataclass
class Model:
    w: Any
    name: str = "model"


@pytest.mark.parametrize("closes_over", [False, True])
def test_trees_of_ones_own_are_saved_flat_and_generators_come_last(path, closes_over):
    closed = default_rng(5)

    def f(model, rng, x):
        own = closed if closes_over else rng
        return Model(nn.relu(model.w * x) * own.random() + rng.normal(size=3))

    compiled = tape.compile(f)
    compiled(Model(X), default_rng(0), 2.0)
    reference = copy.deepcopy(closed)
    loaded, mine, plain = through(path, only(compiled)), default_rng(1), default_rng(1)
    for _ in range(2):
        found, name = loaded(X, 3.0, mine)
        assert name == "model"
        own = reference if closes_over else plain
        assert_close(found, 3.0 * X * own.random() + plain.normal(size=3), 1e-15)
    assert same_state(mine, plain)


def test_keyword_arguments_in_trees_of_ones_own_are_refused(path):
    compiled = tape.compile(lambda model, *, x, z: model.w * x.random() + z)
    compiled(Model(X), x=default_rng(0), z=1.0)
    with pytest.raises(errors.UnsupportedError, match="by position"):
        only(compiled).save(path)


def test_another_process_draws_the_same(path):
    rng = default_rng(11)
    compiled = tape.compile(lambda x: x + rng.normal(size=3))
    compiled(X)
    loaded = through(path, only(compiled))
    code = f"import numpy as np, tape; print(tape.load({str(path)!r})(np.array({X.tolist()})).tolist())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == loaded(X).tolist()


def test_methods_in_files_are_those_that_generators_draw_by(path):
    """Every one of them comes back; those of NumPy that tape does not draw by are not there."""
    draws = {
        "choice": lambda r: r.choice(5, 3, replace=False, p=np.full(5, 0.2)),
        "integers": lambda r: r.integers(np.array([3, 4]), dtype=np.uint8, endpoint=True),
        "permutation": lambda r: r.permutation(4),
        "permuted": lambda r: r.permuted(np.ones((2, 3)), axis=1),
        "multivariate_hypergeometric": lambda r: r.multivariate_hypergeometric([3, 4], 2, method="count"),
        "multivariate_normal": lambda r: r.multivariate_normal(np.zeros(2), np.eye(2), method="cholesky"),
        "multinomial": lambda r: r.multinomial(5, [0.5, 0.5], size=2),
        "dirichlet": lambda r: r.dirichlet(np.ones(3), 2),
        "standard_exponential": lambda r: r.standard_exponential(2, method="inv"),
        "hypergeometric": lambda r: r.hypergeometric(5, 4, 3, size=2),
        "triangular": lambda r: r.triangular(0.0, 1.0, 3.0, size=2),
        "zipf": lambda r: r.zipf(2.5, size=2),
    }
    fractions = {"binomial": (4, 0.5), "negative_binomial": (4, 0.5), "noncentral_f": (2.0, 3.0, 1.0)}
    for method, (count, _) in _METHODS.items():
        given = fractions.get(method, (0.5,) * count)
        draw = draws.get(method, lambda r, m=method, given=given: getattr(r, m)(*given, size=2))
        compiled = tape.compile(draw)
        compiled(default_rng(0))
        loaded, mine, plain = through(path, only(compiled)), default_rng(1), default_rng(1)
        for _ in range(2):
            found, expected = loaded(mine), draw(plain)
            assert np.result_type(found) == np.result_type(expected)
            assert np.array_equal(found, expected), method


def test_samples_that_call_back_are_refused_as_before(path):
    compiled = tape.compile(lambda a, rng: tape.grad(lambda a: np.sum(rng.gamma(a)))(a))
    compiled(X, default_rng(0))
    with pytest.raises(errors.UnsupportedError, match="into Python for gamma_flow, standard_gamma,"):
        only(compiled).save(path)


def test_options_that_files_do_not_hold_are_refused(path):
    mean, cov = np.zeros(2), np.eye(2)
    compiled = tape.compile(lambda r: r.multivariate_normal(mean, cov, tol=np.array(1e-3)))
    compiled(default_rng(0))
    with pytest.raises(errors.UnsupportedError, match=r"multivariate_normal .*'tol'.* cannot be saved"):
        only(compiled).save(path)


# ---- states ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_state_is_refused_before_numpy_reads_it(kind):
    """NumPy reads a buffer at the position that a state says, without a check."""
    bits = getattr(np.random, kind)(3)
    bits.random_raw()
    state = state_of(bits)
    rng = np.random.default_rng(0)
    for k in range(len(state)):
        for value in (-1, 5, 625, 2**31, 2**62, -(2**63)):
            wrong = state.copy()
            wrong[k] = value
            try:
                set_state(bits, wrong)
            except errors.OptionError as error:
                assert kind in str(error)  # noqa: PT017
            generator = np.random.Generator(bits)
            generator.random(700), generator.integers(5, size=9, dtype=np.uint8)
    for wrong in (state[:-1], np.append(state, 0), state.astype(float), state[None], rng.random(len(state))):
        with pytest.raises(errors.OptionError, match=f"no state of a {kind}"):
            set_state(bits, wrong)


@pytest.mark.parametrize(("kind", "place"), [("MT19937", 624), ("Philox", -6)])
def test_positions_in_a_buffer_stay_inside(kind, place):
    bits = getattr(np.random, kind)(3)
    wrong = state_of(bits)
    assert wrong[place] in (4, 623, 624)
    for value in (-1, 625, 10**6):
        wrong[place] = value
        with pytest.raises(errors.OptionError):
            set_state(bits, wrong)


# ---- damaged and hostile files ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example_file(tmp_path_factory):
    closed = default_rng(1)

    def f(x, p):
        a = x * p["rng"].normal(0.0, 1.0, size=3) + closed.random(dtype=np.float32)
        return {"a": a, "k": p["rng"].integers(5, size=2)}, p["rng"].permutation(4), closed.choice(6, 2)

    path = tmp_path_factory.mktemp("programs") / "example.tape"
    compiled = tape.compile(f)
    compiled(X, {"rng": default_rng(0)})
    only(compiled).save(path)
    return path.read_bytes()


def test_the_example_is_accepted(example_file, path):
    assert check_harmless(path, example_file)


@takes_long
def test_changed_files_are_refused_or_harmless(example_file, path):
    rng = random.Random(2)
    files = [change(rng, example_file) for _ in range(rounds(300)) for change in mutated_files.CHANGES]
    assert 0 < sum(check_harmless(path, data) for data in files) < len(files)


def changed(data, change):
    parts = parts_of(data)
    description = json.loads(parts["program.json"])
    change(description)
    return zipped({**parts, "program.json": json.dumps(description)})


def draws_of(description):
    return [i[2] for i in description["instructions"] if i[0] == "callback"]


def into(place, value):
    """A change of the first draw by a method: in [name, operands, attributes, types]."""
    method, *rest = place

    def change(description):
        (call, *_) = [call for call in draws_of(description) if call[2][1] == method]
        replaced(call, rest, value)

    return change


HOSTILE = {
    "another operation": (into(("normal", 0), "add"), "no callback"),
    "no name": (into(("normal", 0), ["draw"]), "no callback"),
    "another method": (into(("normal", 2, 1), "shuffle"), "no such method"),
    "a hidden method": (into(("normal", 2, 1), "__reduce__"), "no such method"),
    "bytes": (into(("normal", 2, 1), "bytes"), "no such method"),
    "the bit generator": (into(("normal", 2, 0), "RandomState"), "no such bit generator"),
    "more parameters": (into(("normal", 1), [None, None, ["python", 1.0], ["python", 1.0]]), "parameters"),
    "an option": (into(("normal", 2, 3), [["out", 1]]), "no such option"),
    "a dtype": (into(("random", 2, 3), [["dtype", "<c16"]]), "no such option"),
    "objects": (into(("random", 2, 3), [["dtype", "|O"]]), "no dtype"),
    "an option twice": (into(("integers", 2, 3), [["endpoint", True], ["endpoint", True]]), "twice"),
    "a number for a bool": (into(("integers", 2, 3), [["endpoint", 1]]), "no such option"),
    "a larger draw": (into(("normal", 2, 2), [2**39]), "another shape"),
    "a longer permutation": (into(("permutation", 1, 1), ["python", 2**40]), "another shape"),
    "a permutation of ones own": (into(("permutation", 1), [None, None]), "no length"),
    "more examples": (into(("normal", 2, 4), [2**30]), "another shape"),
    "a bound": (into(("normal", 2, 6), ["__import__('os')"]), "a bound"),
    "no state": (into(("normal", 1, 0), ["python", 1]), "a state"),
    "a number": (into(("normal", 1, 2), ["python", "1"]), "a number"),
    "bytes of a number": (into(("normal", 1, 2), ["<f8", "00"]), "a number"),
    "the kind of a generator": (lambda d: d["generators"][0].__setitem__(0, "Generator"), "no such kind"),
    "another kind": (lambda d: d["generators"][0].__setitem__(0, "MT19937"), "another type"),
    "no state in the file": (lambda d: d["generators"][0].__setitem__(1, None), "neither an argument"),
    "a state of an argument": (lambda d: d["generators"][1].__setitem__(1, 0), "neither an argument"),
    "a state out of range": (lambda d: d["generators"][0].__setitem__(1, 9), "is missing"),
    "no generators": (lambda d: d.__setitem__("generators", []), "no such generator"),
    "fewer generators": (lambda d: d.__setitem__("generators", d["generators"][:1]), "no such generator"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_nobody_has_saved_are_refused(example_file, path, name):
    change, match = HOSTILE[name]
    path.write_bytes(changed(example_file, change))
    with pytest.raises(errors.ProgramFileError, match=match):
        tape.load(path)


@takes_long
def test_lists_cut_short_or_doubled(example_file, path):
    parts = parts_of(example_file)
    description = json.loads(parts["program.json"])
    for place in places_in(description):
        value = at_place(description, place)
        if type(value) is list and value and place[0] in ("generators", "trees", "instructions"):
            for new in (value[:-1], value[1:], value + value[-1:]):
                other = json.loads(parts["program.json"])
                replaced(other, place, new)
                check_harmless(path, zipped({**parts, "program.json": json.dumps(other)}))


def test_states_of_another_content_are_refused_or_drawn_from(example_file, path):
    parts, rng = parts_of(example_file), random.Random(3)
    number = json.loads(parts["program.json"])["generators"][0][1]
    for _ in range(rounds(40)):
        content = bytearray(parts[f"{number}.npy"])
        content[rng.randrange(len(content) - 64, len(content))] = rng.randrange(256)
        check_harmless(path, zipped({**parts, f"{number}.npy": bytes(content)}))
