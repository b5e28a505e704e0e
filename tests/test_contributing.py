"""The instructions for contributors: what they say is done in a copy of the project, and works."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
_PATH = re.compile(r"`([\w./]+\.(?:py|md|txt|toml|yml))`")
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def section(title):
    """The text below a heading."""
    (found,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return found


def blocks(text, language):
    """Pairs of the text before a block of code, and the block."""
    end = 0
    for block in _BLOCK.finditer(text):
        if block[2] == language:
            lines = [line.removeprefix(block[1]) for line in block[3].splitlines()]
            yield text[end : block.start()], "\n".join(lines) + "\n"
        end = block.end()


def follow(title, folder):
    """Copy the project to a folder, and add the blocks of a section to the files named last before them."""
    for part in ("tape", "tests"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for before, code in blocks(section(title), "python"):
        path = folder / _PATH.findall(before)[-1]
        text = (path.read_text() if path.exists() else "") + f"\n\n{code}"
        if "with its name in `__all__`" in before:
            name = re.search(r"^(?:def |from .* import )?(\w+)", code, re.MULTILINE)[1]
            text = text.replace("__all__ = [", f'__all__ = [\n    "{name}",', 1)
        path.write_text(text)


def run(folder, *command):
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands(title):
    """The shell commands of a section that run Python."""
    for _, block in blocks(section(title), "sh"):
        yield from (line.split()[1:] for line in block.splitlines() if line.startswith("python "))


def test_an_operation_is_added_as_the_text_says(tmp_path):
    follow("Add an operation", tmp_path)
    tests, support = (run(tmp_path, *command) for command in commands("Add an operation"))
    assert " passed" in tests
    assert re.search(r"gudermannian +yes +yes +yes +yes +native", support)


_INSTRUCTION = """
import numpy as np, tape
from tape.core.op import Op
from tests.naive_program import compiled_for, counts, run
energy = Op(
    lambda x: np.sum(x * x, axis=1),
    name="energy",
    vjp=[lambda g, out, x: g[:, None] * 2 * x],
    lower=lambda b, x: b.push("sum_squares", (x,), ((1,),)),
)
x = np.arange(6.0).reshape(2, 3)
compiled, program = compiled_for(energy, x)
assert counts(program.ir) == {"sum_squares": 1}, program.ir
np.testing.assert_array_equal(compiled(x), [5.0, 50.0])
np.testing.assert_array_equal(run(program.ir, [x])[0], [5.0, 50.0])
"""


def test_an_instruction_is_added_as_the_text_says(tmp_path):
    follow("Add a program instruction", tmp_path)
    run(tmp_path, "-c", _INSTRUCTION)


_TRANSFORM = """
import numpy as np, tape, pickle
from tape.transforms import curvature, hessian
x, v = np.array([0.3, -0.2]), np.array([1.0, 2.0])
f = lambda x: np.sum(np.sin(x) * x[::-1])
np.testing.assert_allclose(tape.compile(curvature(f))(x, v), v @ hessian(f)(x) @ v)
assert repr(pickle.loads(pickle.dumps(tape.curvature(np.sin)))) == "<curvature(sin)>"
"""


def test_a_transform_is_added_as_the_text_says(tmp_path):
    follow("Add a transform", tmp_path)
    run(tmp_path, "-c", _TRANSFORM)
    run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tape/transforms/curvature.py")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_files_and_links_of_a_page_exist(name):
    text = (ROOT / name).read_text()
    linked = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", text)]
    new = {"tape/transforms/curvature.py"}
    for path in {*_PATH.findall(text), *linked} - new - {""}:
        assert "://" in path or (ROOT / path).exists(), path


def test_every_module_named_exists():
    for name in set(re.findall(r"python -m (\w[\w.]*)", TEXT)) - {"pytest"}:
        path = ROOT / name.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), name
