"""Operations that are imported when one of them is first needed."""

import subprocess
import sys

import pytest

import tape
from tape.ops import late

START = """
import sys
import numpy as np, tape
tr = tape.Trace()
v = tr.param(np.eye(2) + 0.5)
y = np.mean(np.tanh(v @ v) ** 2)
gradient = tr.backward_param_grads(y)
assert "tape.ops.late" not in sys.modules, sorted(name for name in sys.modules if name.startswith("tape.ops"))
"""
EACH = """
import ast, os, traceback
for name, use in ast.literal_eval(sys.argv[1]).items():
    child = os.fork()
    if not child:
        try:
            out = eval(use)
            assert np.all(np.isfinite(getattr(out, "value", out))), name
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""
USES = {
    "function": "np.linalg.det(v)",
    "keyword": "np.linalg.norm(x=v)",
    "private module": "np.tensordot(v, v)",
    "fft": "np.fft.rfft(v)",
    "polynomial": "np.polyval(v[0], 2.0)",
    "ufunc of SciPy": "__import__('scipy.special').special.gammaln(v)",
    "in place": "np.add(v, v, out=np.zeros((2, 2), like=v))",
    "methods": "v.var(0) + v.std(0) * v[0].dot(v[1])",
    "a method": "v.dot(v)",
    "name": "tape.ops.einsum('ij->i', v)",
    "submodule": "tape.ops.linalg.inv(v)",
    "layers": "tape.nn.gelu(v)",
    "compiled": "tape.compile(tape.grad(lambda x: np.linalg.det(x)))(np.eye(2))",
}


def test_a_first_gradient_does_without_and_each_of_them_is_found_afterwards():
    """Each in a process forked after the gradient, as the first one that needs them."""
    ended = subprocess.run(
        [sys.executable, "-c", START + EACH, repr(USES)], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr


def test_names_are_those_of_the_operations():
    public = {name for name in vars(late) if not name.startswith("_")}
    assert public <= set(dir(tape.ops))
    assert all(getattr(tape.ops, name) is getattr(late, name) for name in public)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = tape.ops.no_such_name
