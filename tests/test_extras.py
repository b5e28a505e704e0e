"""What is not installed is asked for by name."""

import math
import sys

import pytest

from tape import errors
from tape.system.extras import need


def test_what_is_installed_is_imported():
    assert need("math", "roots", "viz") is math
    assert need("os.path", "paths") is sys.modules["os.path"]


@pytest.mark.parametrize(
    ("module", "extra", "said"),
    [
        ("rich.table", "viz", "pictures need rich, which is not installed: pip install 'tape[viz]' [at"),
        ("rich.table", None, "pictures need rich, which is not installed: pip install rich [at"),
        ("PIL.Image", None, "pictures need Pillow, which is not installed: pip install pillow [at"),
    ],
)
def test_what_is_missing_is_named_with_how_to_install_it(monkeypatch, module, extra, said):
    monkeypatch.setitem(sys.modules, module.partition(".")[0], None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(errors.UnsupportedError) as caught:
        need(module, "pictures", extra)
    assert str(caught.value).startswith(said)
    with pytest.raises(errors.UnsupportedError, match=r"\. Or do without"):
        need(module, "pictures", extra, "Or do without")
