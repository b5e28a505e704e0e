"""`tape.core.sites`: the line, the columns and the scope of every node."""

import asyncio
import inspect
import threading

import numpy as np
import pytest

import tape


def _line() -> int:
    """The line this is called from."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_nodes_know_nothing_unless_asked() -> None:
    tr = tape.Trace()
    y = np.tanh(tr.param(1.0))
    assert [node.site for node in tr.nodes] == [None, None]
    assert y.node.site is None


def test_every_node_knows_its_line_and_expression() -> None:
    tr = tape.Trace(sites=True)
    x, leaf = tr.param(np.ones(3)), _line()
    y, sums = np.sum(np.exp(x) * 2.0), _line()
    sites = [node.site for node in tr.nodes]
    assert [site.line for site in sites] == [leaf, sums, sums, sums]
    assert {site.filename for site in sites} == {__file__}
    assert {site.function for site in sites} == {"test_every_node_knows_its_line_and_expression"}
    assert str(sites[0]) == f"{__file__}:{leaf}"
    assert sites[-1].text == "y, sums = np.sum(np.exp(x) * 2.0), _line()"
    expressions = []
    for site in sites[1:]:
        begin, end = (column - site.indent for column in site.columns)
        expressions.append(site.text[begin:end])
    assert expressions == ["np.exp(x)", "np.exp(x) * 2.0", "np.sum(np.exp(x) * 2.0)"]
    assert y.node.site == sites[-1]
    assert hash(y.node.site) == hash(sites[-1])
    assert sites[0] != sites[1]


def test_operations_made_of_several_are_all_of_the_users_line() -> None:
    tr = tape.Trace(sites=True)
    x = tr.param(np.ones((2, 3)))
    y, line = tape.nn.layer_norm(x, (3,)), _line()
    np.linalg.norm(np.concatenate([y, y]), axis=1)
    assert {node.site.line for node in tr.nodes[1:]} == {line, line + 1}


def test_an_expression_on_several_lines_has_no_columns() -> None:
    tr = tape.Trace(sites=True)
    x = tr.param(1.0)
    y = np.add(
        x,
        x,
    )
    assert y.node.site.columns is None
    assert y.node.site.text == "y = np.add("
    assert y.node.site.excerpt == ["y = np.add("]
    assert repr(y.node.site) == f"<site {y.node.site.filename}:{y.node.site.line}>"


def test_columns_count_characters_and_not_bytes() -> None:
    tr = tape.Trace(sites=True)
    größe = tr.param(1.0)
    ß = größe * np.exp(größe)
    site = ß.node.site
    begin, end = (column - site.indent for column in site.columns)
    assert site.text[begin:end] == "größe * np.exp(größe)"


def test_code_without_a_file_has_a_line_and_no_text() -> None:
    tr = tape.Trace(sites=True)
    scope = {"x": tr.param(1.0)}
    exec(compile("\n\ny = x * x", "<made up>", "exec"), scope)
    site = scope["y"].node.site
    assert (str(site), site.text, site.indent) == ("<made up>:3", "", 0)
    assert site.excerpt == []


def test_what_derivatives_record_has_the_line_it_is_the_derivative_of() -> None:
    def f(x):
        return np.sin(x)  # recorded here

    line = inspect.getsourcelines(f)[1] + 1
    with tape.debug():
        outer = tape.Trace()
        x = outer.param(1.0)
        tape.grad(f)(x)
    assert {node.site.line for node in outer.nodes[1:]} == {line}


def test_forward_mode_records_with_the_line_of_the_operation() -> None:
    def f(x):
        return np.sin(x)

    line = inspect.getsourcelines(f)[1] + 1
    with tape.debug():
        outer = tape.Trace()
        tape.jvp(f, (outer.param(1.0),), (outer.param(1.0),))
    assert {node.site.line for node in outer.nodes[2:]} == {line}


def test_debug_is_for_traces_of_this_thread_made_inside() -> None:
    before, others = tape.Trace(), []
    with tape.debug():
        thread = threading.Thread(target=lambda: others.append(tape.Trace()))
        thread.start()
        thread.join()
        inside = tape.Trace()
    after = tape.Trace()
    for tr, is_sited in ((before, False), (others[0], False), (inside, True), (after, False)):
        assert (tr.param(1.0).node.site is not None) == is_sited


def test_scopes_nest_and_end() -> None:
    tr = tape.Trace(sites=True)
    x = tr.param(1.0)
    with tape.name_scope("encoder"):
        y = x * x
        with tape.name_scope("dense"):
            z = y * y
        with pytest.raises(ZeroDivisionError), tape.name_scope("gone"):
            raise ZeroDivisionError
        again = z * z
    last = again * z
    found = [var.node.site.scope for var in (x, y, z, again, last)]
    assert found == [(), ("encoder",), ("encoder", "dense"), ("encoder",), ()]


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_scope_needs_a_name(name) -> None:
    with pytest.raises(tape.errors.OptionError, match="name of a scope"), tape.name_scope(name):
        pass


def test_a_sweep_that_fails_says_where_the_node_was_recorded() -> None:
    tr = tape.Trace(sites=True)
    x = tr.param(np.ones(3))
    y, line = x + np.ones(3), _line()
    tr.set(x, np.ones(4))
    with pytest.raises(tape.errors.ShapeError) as failure:
        tr.replay()
    assert f"recorded at {__file__}:{line}" in failure.value.__notes__[0]
    assert y.shape == (3,)


def test_errors_in_shape_say_where_the_operands_come_from() -> None:
    tr = tape.Trace(sites=True)
    x = tr.param(np.ones(3), name="x")
    h, line = x * 2.0, _line()
    for wrong in (
        lambda: h + np.ones(4),
        lambda: np.ones(4) @ h,
        lambda: np.concatenate([h, np.ones((2, 2))]),
    ):
        with pytest.raises(tape.errors.ShapeError) as failure:
            wrong()
        (note,) = failure.value.__notes__
        place = f"float64[3], is node %1, recorded at {__file__}:{line}: h, line = x * 2.0, _line()"
        assert note.endswith(place)
    assert len(tr) == 2


def test_errors_have_no_places_unless_asked() -> None:
    tr = tape.Trace()
    x = tr.param(np.ones(3))
    with pytest.raises(tape.errors.ShapeError) as failure:
        x + np.ones(4)
    assert not hasattr(failure.value, "__notes__")


def test_scopes_of_generators_that_end_in_any_order_leave_nothing_behind() -> None:
    def named(name):
        with tape.name_scope(name):
            yield

    generators = [named("a"), named("b")]
    for generator in generators:
        next(generator)
    trace = tape.Trace(sites=True)
    generators[0].close()
    assert trace.param(1.0).node.site.scope == ("b",)
    generators[1].close()
    assert trace.param(1.0).node.site.scope == ()


def test_tasks_have_scopes_of_their_own() -> None:
    async def task(name: str) -> tuple[str, ...]:
        tr = tape.Trace(sites=True)
        with tape.name_scope(name):
            await asyncio.sleep(0)
            return tr.param(1.0).node.site.scope

    async def both() -> list[tuple[str, ...]]:
        return await asyncio.gather(task("a"), task("b"))

    assert asyncio.run(both()) == [("a",), ("b",)]


def test_the_places_of_a_long_text_are_found_in_linear_time() -> None:
    tr = tape.Trace(sites=True)
    scope = {"x": tr.param(1.0)}
    exec(compile("\n".join(["x = x + 1.0"] * 3000), "<long>", "exec"), scope)
    assert [node.site.line for node in tr.nodes[1:]] == list(range(1, 3001))


@pytest.mark.parametrize("options", [{"sites": "yes"}, {"check": 1}])
def test_options_of_traces_are_true_or_false(options) -> None:
    with pytest.raises(tape.errors.OptionError, match="True or False"):
        tape.Trace(**options)


def test_a_sweep_that_starts_from_a_var_records_with_the_lines_of_the_tape() -> None:
    tr = tape.Trace(sites=True)
    x = tr.param(1.0)
    y, line = np.sin(x), _line()
    around = tape.Trace(sites=True)
    tr.backward_param_grads(y, seed=around.param(1.0))
    assert {node.site.line for node in around.nodes[1:]} == {line}
