"""Mutants of a small module: what is changed, what is left alone, and which of them a campaign finds."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tape
from tape.kernels.fingerprint import COMPILED
from tests.mutation.campaign import is_compiled
from tests.mutation.coverage_map import Part, load
from tests.mutation.operators import Mutant, mutants_of
from tests.mutation.sample import _SHOWN, _modules, at, draw
from tests.mutation.selection import CoverageMap

ROOT = Path(__file__).parents[1]


def changes(source):
    """The kind of each mutant of some lines, and the lines as they then are."""
    source = textwrap.dedent(source).strip("\n")
    return [(mutant.kind, mutant.applied(source)) for mutant in mutants_of("toy.py", source)]


# ---- what is changed ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ("a < b", "comparison", {"a >= b", "a <= b"}),
        ("a == b", "comparison", {"a != b"}),
        ("a is not b", "comparison", {"a is b"}),
        ("a not in b", "comparison", {"a in b"}),
        ("a <= b < c", "comparison", {"a > b < c", "a < b < c", "a <= b >= c", "a <= b <= c"}),
        ("a and b", "connective", {"a or b"}),
        ("a or b or c", "connective", {"a and b or c", "a or b and c"}),
        ("a and b", "operand", {"(True) and b", "a and (True)"}),
        ("a or b", "operand", {"(False) or b", "a or (False)"}),
        ("not a", "unary", {"a"}),
        ("not(a)", "unary", {"(a)"}),
        ("-a", "unary", {"a"}),
        ("a + b", "arithmetic", {"a - b"}),
        ("a @ b", "arithmetic", {"a * b"}),
        ("a // b", "arithmetic", {"a * b"}),
        ("a ** b", "arithmetic", {"a * b"}),
        ("(a) * b", "operand", {"(a)"}),
        ("a += b", "arithmetic", {"a -= b"}),
        ("a += b", "statement", {"pass"}),
        ("f(a)", "statement", {"pass"}),
        ("f(a)", "call", {"(a)"}),
        ("f(a, b, c)", "arguments", {"f(b, a, c)"}),
        ("f(a, b=c, d=e)", "keyword", {"f(a, d=e)", "f(a, b=c, )"}),
        ("f(a, b=(c))", "keyword", {"f(a, )"}),
        ("0", "constant", set()),
        ("a = 3", "constant", {"a = (4)"}),
        ("a = 0.5", "constant", {"a = (1.5)"}),
        ("a = True", "constant", {"a = (False)"}),
        ("a = 'fc'", "constant", {"a = ('f')"}),
        ("a if b else c", "condition", {"a if (True) else c", "a if (False) else c"}),
        ("[a for a in b if c]", "condition", {"[a for a in b if (True)]"}),
        ("if a:\n    b()", "condition", {"if (True):\n    b()", "if (False):\n    b()"}),
        ("while a:\n    b()", "condition", {"while (False):\n    b()"}),
        ("def f():\n    return a", "return", {"def f():\n    return (None)"}),
        ("def f():\n    raise E('all went wrong')", "statement", {"def f():\n    pass"}),
        ("for a in b:\n    break", "statement", {"for a in b:\n    pass"}),
    ],
)
def test_each_kind_of_change(source, kind, expected):
    assert {text for found, text in changes(source) if found == kind} == expected


def test_lines_keep_their_numbers_and_mutants_are_programs():
    """Of real modules: each mutant differs in its own lines only."""
    count = 0
    for path in sorted(Path(tape.__file__).parent.rglob("*.py"))[::40]:
        source = path.read_text()
        lines = source.splitlines()
        found = mutants_of("module.py", source)
        count += len(found)
        assert len({(mutant.start, mutant.end, mutant.text) for mutant in found}) == len(found)
        for mutant in found:
            changed = mutant.applied(source).splitlines()
            assert len(changed) == len(lines)
            differ = [k for k, (a, b) in enumerate(zip(lines, changed, strict=True), 1) if a != b]
            assert differ
            assert mutant.line <= differ[0] <= differ[-1] <= mutant.last_line
        for mutant in found[::50]:
            assert "+++ b/module.py" in mutant.diff(source)
    assert count > 500


def test_changes_that_python_refuses_or_warns_of_are_no_mutants():
    assert Mutant("toy.py", 2, 4, "is not", "", 1, 1, (1, 1)).compiles("a is None")
    assert not Mutant("toy.py", 2, 4, "is", "", 1, 1, (1, 1)).compiles("1 == 1")
    assert not Mutant("toy.py", 2, 4, "b c", "", 1, 1, (1, 1)).compiles("a == 1")


def test_characters_of_several_bytes_are_one():
    assert changes("a = 'αβ' + b  # ≤") == [("constant", "a = ('α') + b  # ≤")]
    assert ("comparison", "α >= β") in changes("α < β")


def test_operators_are_looked_for_outside_of_comments():
    source = """
    a = (b  # + or so
         + c)
    """
    assert ("arithmetic", "a = (b  # + or so\n     - c)") in changes(source)


# ---- what is left alone ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring with 3 words."""',
        "def f():\n    '''Doc.'''",
        "import a.b as c",
        "from a import b",
        "def f(a: Literal['b'], *, c: int | None) -> list[3]: ...",
        "a: dict[str, 1]",
        "Kind = Callable[[int, 2], None]",
        "Kind = int | None",
        "__all__ = ['a', 'b']",
        "class A:\n    __slots__ = ('a', 'b')",
        "assert a < 3, 'b'",
        "if TYPE_CHECKING:\n    a = 1 + 2",
        "a = f'{b + 1} and {c!r}'",
        "@overload\ndef f(a=1): ...",
        "@lru_cache(maxsize=8)\ndef f(): ...",
        "@dataclass(frozen=True)\nclass A:\n    b: int",
        "a = 'words for people'",
        "a = cast('Var', b)",
        "a = Op(name='b')",
        "del a[1]",
    ],
)
def test_what_no_test_is_meant_to_see_is_left_alone(source):
    assert changes(source) == []


def test_messages_are_left_alone_and_what_they_depend_on_is_not():
    assert changes("if a:\n    raise E('no' + b)") == [
        ("condition", "if (False):\n    raise E('no' + b)"),
        ("condition", "if (True):\n    raise E('no' + b)"),
        ("statement", "if a:\n    pass"),
    ]
    assert [text for _, text in changes("warnings.warn('x', stacklevel=2)")] == ["pass"]
    assert {text for _, text in changes("want(a == 2, 'b is none')")} == {
        "pass", "want(a != 2, 'b is none')", "want(a == (3), 'b is none')",
    }  # fmt: skip
    assert {text for _, text in changes("zip(a, b, strict=True)")} == {"pass", "zip(b, a, strict=True)"}


# ---- which tests are run, and in which order ---------------------------------------------------------


def example_map():
    return CoverageMap(
        {
            "tests/test_other.py": Part(
                tests=["tests/test_other.py::a", "tests/test_other.py::b"],
                times=[0.1, 0.2],
                lines={"tape/core/node.py": {5: 0b11, 9: 0b10}},
                at_import={"tape/core/node.py": [1, 2, 3]},
            ),
            "tests/test_node.py": Part(
                tests=["tests/test_node.py::slow", "tests/test_node.py::quick"],
                times=[30.0, 0.5],
                lines={"tape/core/node.py": {5: 0b11}},
            ),
        }
    )


def test_tests_are_those_that_execute_the_line_or_else_the_statement():
    tests_of = example_map().tests_of
    assert tests_of("tape/core/node.py", [9], (9, 9)) == [{"tests/test_other.py": ["tests/test_other.py::b"]}]
    assert tests_of("tape/core/node.py", [10], (8, 10)) == [
        {"tests/test_other.py": ["tests/test_other.py::b"]}
    ]
    assert tests_of("tape/core/node.py", [20], (20, 20)) == [{}]
    assert tests_of("tape/else.py", [9], (9, 9)) == [{}]


def test_what_is_executed_at_import_is_tried_by_all_that_use_the_module():
    direct, others = example_map().tests_of("tape/core/node.py", [2], (1, 3))
    assert direct == {}
    assert sum(map(len, others.values())) == 4


def test_mirroring_files_come_first_and_quick_tests_before_slow_ones():
    coverage = example_map()
    stages = coverage.tests_of("tape/core/node.py", [5], (5, 5))
    batches = coverage.batches("tape/core/node.py", stages, 60)
    assert batches[0] == ["tests/test_node.py::quick"]
    assert batches[-1] == ["tests/test_node.py::slow"]
    assert sum(map(len, batches)) == 4
    assert sum(map(len, coverage.batches("tape/core/node.py", stages, 0.6))) == 2


def test_narrow_tests_come_before_those_that_execute_many_modules():
    line = {5: 0b11}
    others = {f"tape/core/{name}.py": {1: 0b01} for name in "abcdef"}
    part = Part(
        ["tests/test_x.py::broad", "tests/test_x.py::narrow"], [0.1, 0.2], {"tape/a.py": line, **others}
    )
    coverage = CoverageMap({"tests/test_x.py": part})
    assert coverage.breadths == {"tests/test_x.py::broad": 7, "tests/test_x.py::narrow": 1}
    stages = coverage.tests_of("tape/a.py", [5], (5, 5))
    assert coverage.batches("tape/a.py", stages, 60) == [
        ["tests/test_x.py::narrow", "tests/test_x.py::broad"]
    ]


def test_files_take_turns_and_so_do_the_functions_of_a_file():
    """A file of many slow tests, or many cases of one function, does not keep others waiting."""
    parts = {}
    for name, seconds in (("tests/test_a.py", 1.5), ("tests/test_b.py", 1.9)):
        cases = [f"{name}::case[{k}]" for k in range(4)]
        parts[name] = Part([*cases, f"{name}::other"], [seconds] * 5, {"tape/a.py": {5: 0b11111}})
    coverage = CoverageMap(parts)
    batches = coverage.batches("tape/a.py", coverage.tests_of("tape/a.py", [5], (5, 5)), 999)
    order = [id.removeprefix("tests/test_") for batch in batches for id in batch]
    assert order[:4] == ["a.py::case[0]", "b.py::case[0]", "a.py::other", "a.py::case[1]"]
    assert sorted(order) == sorted(
        id.removeprefix("tests/test_") for part in parts.values() for id in part.tests
    )
    assert [len(batch) for batch in batches] == [1, 1, 7, 1]


def test_the_time_for_a_mutant_grows_with_that_of_its_tests_but_not_as_fast():
    coverage = example_map()
    stages = coverage.tests_of("tape/core/node.py", [5], (5, 5))
    assert coverage.budget_for(stages, 60) == 60  # there are 30.8 s of them
    assert coverage.budget_for([*stages, *stages], 10) == pytest.approx(308**0.5)
    assert coverage.budget_for([{}], 10) == 10


def test_a_file_mirrors_a_module_by_its_name_or_that_of_its_folder():
    parts = {
        name: Part(
            [f"{name}::a"], [0.1], {"tape/ops/fft/__init__.py": {5: 1}, "tape/ops/linalg/norms.py": {5: 1}}
        )
        for name in ("tests/test_fft.py", "tests/test_a.py", "tests/test_linalg.py", "tests/test_norms.py")
    }
    coverage = CoverageMap(parts)

    def first(path, count):
        batches = coverage.batches(path, coverage.tests_of(path, [5], (5, 5)), 60)
        return [id.partition("::")[0] for batch in batches for id in batch][:count]

    assert first("tape/ops/fft/__init__.py", 1) == ["tests/test_fft.py"]
    assert first("tape/ops/linalg/norms.py", 2) == ["tests/test_norms.py", "tests/test_linalg.py"]


def test_what_becomes_machine_code():
    assert is_compiled("tape/kernels/reduce.py")
    assert not is_compiled("tape/program/files/archive.py")
    for name in COMPILED:
        path = f"tape/program/native/{name}.py"
        assert is_compiled(path)
        assert (ROOT / path).exists(), name


def test_only_what_is_made_to_be_looked_at_is_not_drawn_from():
    """By the places where it is now."""
    for place in _SHOWN:
        assert (ROOT / place).exists(), place
    modules = list(_modules(ROOT, ()))
    for path in (
        "tape/config.py", "tape/core/trace.py", "tape/expressions/parse.py", "tape/inspect/nonfinite.py",
        "tape/program/ir/costs.py", "tape/program/report/profile.py", "tape/testing/_checks.py",
    ):  # fmt: skip
        assert path in modules
    for path in ("tape/inspect/costs.py", "tape/inspect/words.py", "tape/viz/arc.py"):
        assert (ROOT / path).exists()
        assert path not in modules
        assert list(_modules(ROOT, [path])) == [path]


# ---- a campaign --------------------------------------------------------------------------------------

TOY = '''
"""A toy."""


def sign(x):
    if x > 0:
        return 1
    return -1


def size(x):
    return len(x) + 0
'''
TESTS = """
from tape.toy import sign, size


def test_sign():
    assert (sign(2), sign(-2)) == (1, -1)


def test_size():
    assert size([3]) == 1
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """A repository with one module and its tests."""
    return repository(tmp_path_factory.mktemp("toy"), {"tape/toy.py": TOY, "tests/test_toy.py": TESTS})


def repository(root, files):
    """A folder with some files and what a campaign needs beside them."""
    for path, text in {
        "tape/__init__.py": "", "tests/__init__.py": "", "README.md": "", "LICENSE": "",
        "pyproject.toml": "[tool.pytest.ini_options]\n", "examples/a.py": "", "benchmarks/a.py": "", **files,
    }.items():  # fmt: skip
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text.lstrip())
    shutil.copytree(Path(__file__).parent / "mutation", root / "tests/mutation")
    return root


def campaign(root, *arguments):
    """The lines of the report."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutation", "--processes", "1", *arguments],
        cwd=root, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


def test_a_campaign_finds_what_is_not_tested_and_goes_on_where_it_was(toy):
    arguments = ("--at", "tape/toy.py:5", "tape/toy.py:7")
    report, _ = campaign(toy, *arguments)
    assert report.startswith("8 mutants: 6 caught, 2 survived. 75.0% were noticed")
    assert report.count("tape/toy.py:5: ") == 2
    assert "\n+    if x >= 0:\n" in report
    assert "\n+    if x > (1):\n" in report
    with (toy / "tests/test_toy.py").open("a") as tests:
        tests.write("\n\ndef test_sign_of_small_numbers():\n    assert (sign(0), sign(1)) == (-1, 1)\n")
    report, progress = campaign(toy, *arguments)
    assert report.startswith("8 mutants: 8 caught. 100.0% were noticed")
    assert "2/2" in progress


def test_a_declaration_is_tried_by_those_who_read_the_table(tmp_path):
    """None of its lines, nor of its module, is executed by a test."""
    table = "SIZES = {}\n\ndef declare_size(name, size):\n    SIZES[name] = size\n"
    reader = "import tape.toy\nfrom tape.table import SIZES\n\ndef test_size():\n    assert SIZES['a'] == 3\n"
    toy = "from tape.table import declare_size\n\ndeclare_size(\n    'a',\n    3,\n)\n"
    files = {"tape/table.py": table, "tape/toy.py": toy, "tests/test_sizes.py": reader}
    report, _ = campaign(repository(tmp_path, files), "--at", "tape/toy.py:5")
    assert report.startswith("3 mutants: 3 caught")


def test_what_another_process_executes_is_tried_by_the_tests_that_mirror_the_module(tmp_path):
    test = """
    import subprocess
    import sys


    def test_doubled():
        subprocess.run([sys.executable, "-c", "import tape.toy; assert tape.toy.doubled(2) == 4"], check=True)
    """
    files = {
        "tape/toy.py": "def doubled(x):\n    return 3 * x - x\n",
        "tests/test_toy.py": textwrap.dedent(test),
    }
    report, _ = campaign(repository(tmp_path, files), "--at", "tape/toy.py:2")
    assert "caught" in report
    assert "survived" not in report
    assert "untested" not in report


def test_what_a_shared_fixture_executes_is_executed_by_all_that_have_it(tmp_path):
    for path, text in {
        "tape/__init__.py": "def size(x):\n    n = len(x)\n    return n\n",
        "tests/test_shared.py": """
import pytest
from tape import size

@pytest.fixture(scope="module")
def shared():
    return size("abc")

@pytest.fixture
def own(shared):
    return shared

def test_first(shared):
    assert shared == 3

def test_alone():
    assert True

def test_second(own):
    assert own == 3
""",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    code = "from pathlib import Path; from tests.mutation.coverage_map import measure"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(measure({{'tests/test_shared.py': Path('part')}}))"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "{'failed': []}\n"
    part = load(tmp_path / "part")
    assert [id.partition("::")[2] for id in part.tests] == ["test_first", "test_alone", "test_second"]
    assert part.lines["tape/__init__.py"] == {2: 0b101, 3: 0b101}


def test_a_process_that_is_killed_while_it_shows_its_progress_does_not_stop_the_campaign(toy, tmp_path):
    code = f"""
import os, signal, sys
from pathlib import Path
from tqdm import tqdm
from tests.mutation.workplace import Task, Workplace

def killed(now):
    tqdm.get_lock().acquire()
    os.kill(os.getpid(), signal.SIGKILL)

place = Workplace(Path.cwd(), Path({str(tmp_path)!r}), 1)
for job, answer in tqdm(place.each("ab", lambda job: Task(killed, 60)), mininterval=0):
    print(job, answer["signal"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=toy, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["a", "9", "b", "9"]


def test_a_file_that_cannot_be_collected_does_not_stop_the_others(tmp_path):
    (tmp_path / "test_bad.py").write_text("import nowhere\n")
    (tmp_path / "test_good.py").write_text("def test_good():\n    pass\n")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    names = [str(tmp_path / "test_bad.py"), str(tmp_path / "test_good.py")]
    code = f"run_tests({names}, (plugin := Chosen(None, {{}}))); print(plugin.failed, list(plugin.times))"
    done = subprocess.run(
        [sys.executable, "-c", f"from tests.mutation.session import Chosen, run_tests; {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["['test_bad.py']", "['test_good.py::test_good']"]


def test_a_sample_is_the_same_for_the_same_seed_and_has_one_mutant_a_line(toy):
    drawn = draw(toy, 3, 1)
    assert drawn == draw(toy, 3, 1)
    assert any(drawn != draw(toy, 3, seed) for seed in range(2, 9))
    drawn = draw(toy, 99, 1)
    assert len({mutant.line for mutant in drawn}) == len(drawn) == 4
    assert all(mutant in at(toy, f"tape/toy.py:{mutant.line}") for mutant in drawn)
    assert draw(toy, 99, 1, under=["tape/else"]) == []
