"""The public interface is what ``tests/api.txt`` says, and a change of it is seen."""

import tape
from tests import public_api


def test_the_interface_is_the_one_that_is_written_down():
    changes = public_api.difference(public_api.FILE.read_text(), public_api.interface())
    assert not changes, f"the public interface has changed; {public_api.COMMAND} accepts this:\n{changes}"


def test_all_that_a_module_lists_is_there():
    lines = public_api.interface().splitlines()
    for name in ("Trace", "Var", "Op"):
        assert any(line.startswith(f"class tape.{name}(") for line in lines)
    names = {line.removeprefix("class ").partition("(")[0].partition(" ")[0] for line in lines}
    assert {f"tape.{name}" for name in tape.transforms.__all__} <= names
    assert "    shape: property -> tuple[int, ...]" in lines
    assert not [line for line in lines if " at 0x" in line or line.startswith(("tape.np", "class tape.np"))]


def listed(function):
    return f"f{public_api._signature(function)}"


def test_signatures_are_written_as_in_python():
    def of_all_kinds(
        a: int, /, b: str = "x", c: tuple[int, ...] = (1, 2), *, d: object = max, e: object = object()
    ) -> None: ...

    def without(*args, **kwargs): ...

    def only_keywords(*, key=None): ...

    of_all_kinds.__annotations__ = dict.fromkeys("abcde", "T") | {"return": "None"}
    assert listed(of_all_kinds) == (
        "f(a: T, /, b: T = 'x', c: T = (1, 2), *, d: T = max, e: T = ...) -> None"
    )
    assert listed(without) == "f(*args, **kwargs)"
    assert listed(only_keywords) == "f(*, key=None)"


def test_a_change_is_shown_with_its_line(monkeypatch):
    before = public_api.interface()
    assert public_api.difference(before, before) == ""
    monkeypatch.setattr(tape.testing.check_vjp, "__defaults__", (1,))
    monkeypatch.setattr(
        tape.testing, "__all__", [name for name in tape.testing.__all__ if name != "check_grads"]
    )
    changes = public_api.difference(before, public_api.interface()).splitlines()
    changed = [line.partition("(")[0] for line in changes if line[:2] in ("-t", "+t")]
    assert "-tape.testing.check_grads" in changed
    assert "+tape.testing.check_grads" not in changed
    assert {"-tape.testing.check_vjp", "+tape.testing.check_vjp"} <= set(changed)
