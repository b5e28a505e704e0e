"""The examples that train layers: a short run of each, its numbers and its picture."""

import sys
from argparse import Namespace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import tape
from tape import nn, train
from tests.tiers import takes_long

for needed in ("sklearn", "matplotlib", "tqdm"):
    if find_spec(needed) is None:
        pytest.skip(f"the examples need {needed}", allow_module_level=True)

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "examples"))  # a script finds its neighbours; so must one that is imported
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def run(name, *options):
    """Run an example without its progress bar being looked at."""
    import_module(f"examples.{name}").main(list(options))


@takes_long
def test_the_convolutional_network_learns_in_an_epoch(capsys, tmp_path):
    run("digits_conv", "--epochs", "1", "--output", str(tmp_path / "digits.png"))
    accuracy = float(capsys.readouterr().out.partition("accuracy ")[2].partition("%")[0])
    assert accuracy > 80
    assert (tmp_path / "digits.png").read_bytes().startswith(SIGNATURE)


def test_images_are_moved_and_labels_are_not():
    augmented = import_module("examples.digits_conv").augmented
    images, labels = train.data.digits()
    batch = images[:5, None].astype(np.float32), labels[:5]
    moved, same = augmented(batch, np.random.default_rng(0))
    again, _ = augmented(batch, np.random.default_rng(0))
    np.testing.assert_array_equal(moved, again)
    assert moved.shape == batch[0].shape
    assert same is batch[1]
    assert 0.05 < np.abs(moved - batch[0]).mean() < 0.3


def test_the_autoencoder_gets_better_and_draws(capsys, tmp_path):
    run("digits_vae", "--epochs", "4", "--output", str(tmp_path / "vae.png"))
    elbo = float(capsys.readouterr().out.partition("ELBO ")[2].split()[0])
    assert elbo > -29.0
    assert (tmp_path / "vae.png").read_bytes().startswith(SIGNATURE)


def test_the_bound_lies_below_the_likelihood():
    vae = import_module("examples.digits_vae")
    model = vae.make_model(2, np.random.default_rng(0))
    images = train.data.digits()[0][:3].reshape(3, 64).astype(np.float32)
    draws = tape.random.default_rng(0)
    bound = np.mean([vae.elbo_of(model, images, draws) for _ in range(200)], axis=0)
    codes = np.random.default_rng(1).standard_normal((4000, 1, 2)).astype(np.float32)
    fits = -nn.binary_cross_entropy_with_logits(
        model.decoder(codes) + 0 * images, np.broadcast_to(images, (4000, 3, 64)), reduction="none"
    ).sum(axis=-1)
    likelihood = tape.ops.logsumexp(fits, axis=0) - np.log(4000)
    assert np.all(bound < likelihood + 0.05)


@pytest.mark.parametrize("kind", ["transformer", "lstm"])
def test_writing_step_by_step_is_what_the_whole_model_says(kind):
    characters, rng = import_module("examples.characters"), np.random.default_rng(0)
    if kind == "lstm":
        model = characters.make_recurrent(11, 32, 2, 0.0, rng)
    else:
        model = characters.make_model(11, 12, 32, 2, 0.0, rng)
    codes = np.random.default_rng(1).integers(0, 11, 12)
    whole = model(codes[None])[0]
    kept, room = model.begin()
    assert room == (None if kind == "lstm" else 12)
    for k, code in enumerate(codes):
        scores, kept = model.following(code, np.int64(k), kept)
        np.testing.assert_allclose(scores, whole[k], atol=1e-5)
    written = characters.write(model, codes[:5], 30, 1.0, np.random.default_rng(2))
    assert len(written) == 30
    assert set(written) <= set(range(11))


@pytest.mark.parametrize("kind", ["transformer", "lstm"])
def test_models_of_characters_write(kind, capsys, tmp_path):
    small = f"--model {kind} --steps 25 --width 32 --depth 1 --length 16 --write 20 --batch-size 8"
    run("characters", *small.split(), "--output", str(tmp_path / "characters.png"))
    assert "nats a character" in capsys.readouterr().out
    assert (tmp_path / "characters.png").read_bytes().startswith(SIGNATURE)


def test_the_spiral_is_told_apart(capsys, tmp_path):
    run("spiral", "--epochs", "150", "--output", str(tmp_path / "spiral.png"))
    accuracy = float(capsys.readouterr().out.partition("accuracy ")[2].partition("%")[0])
    assert accuracy > 80
    assert (tmp_path / "spiral.png").read_bytes().startswith(SIGNATURE)


@takes_long
def test_the_sine_teaches_the_cosine(capsys, tmp_path):
    run("sine_lstm", "--epochs", "20", "--hidden", "30", "--output", str(tmp_path / "sine.png"))
    error = float(capsys.readouterr().out.partition("of the cosine ")[2].split()[0])
    assert error < 0.02
    assert (tmp_path / "sine.png").read_bytes().startswith(SIGNATURE)


def test_the_state_goes_on_from_window_to_window():
    sine_lstm = import_module("examples.sine_lstm")
    model = sine_lstm.make_model(8, np.random.default_rng(0))
    series = sine_lstm.curve(np.random.default_rng(1))[:66, None]
    whole, carry = model(series)
    first, between = model(series[:33])
    second, after = model(series[33:], between)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=1e-6)
    np.testing.assert_allclose(after[0], carry[0], atol=1e-6)


def test_hidden_pixels_are_filled_in_better_than_by_their_mean(capsys, tmp_path):
    small = "--epochs 4 --rank 6"
    run("matrix_factorisation", *small.split(), "--output", str(tmp_path / "factors.png"))
    found, _, mean = capsys.readouterr().out.partition("pixels ")[2].partition(", of their mean ")
    assert float(found) < 0.9 * float(mean.split()[0])
    assert (tmp_path / "factors.png").read_bytes().startswith(SIGNATURE)


def test_a_table_of_that_rank_is_found_from_part_of_its_entries():
    factorisation = import_module("examples.matrix_factorisation")
    rng = np.random.default_rng(0)
    table = (rng.normal(size=(60, 2)) @ rng.normal(size=(2, 50))).astype(np.float32)
    known, hidden = factorisation.hide(table, rng)
    assert len(known[2]) + len(hidden[2]) == table.size
    options = Namespace(rank=2, epochs=300, seed=0, penalty=0.0)
    model, _ = factorisation.fit(known, hidden, table.shape, options)
    assert factorisation.error_of(model, hidden) < 1e-2 * np.mean(table**2)


@takes_long
def test_the_residual_network_learns_in_two_epochs(capsys, tmp_path):
    small = "--epochs 2 --width 8"
    run("digits_residual", *small.split(), "--output", str(tmp_path / "residual.png"))
    accuracy = float(capsys.readouterr().out.partition("accuracy ")[2].partition("%")[0])
    assert accuracy > 60
    assert (tmp_path / "residual.png").read_bytes().startswith(SIGNATURE)


def test_a_residual_block_that_adds_nothing_passes_its_argument():
    residual = import_module("examples.digits_residual")
    block = residual.make_block(3, 3, 1, np.random.default_rng(0))
    block.body[-1].weight[...] = 0
    images = np.random.default_rng(1).random((2, 3, 8, 8), np.float32)
    out, state = block(images, nn.init_state(block), train=True)
    np.testing.assert_allclose(out, images, atol=1e-6)
    assert state["across"] is None
    halved, _ = residual.make_block(3, 5, 2, np.random.default_rng(0))(
        images, nn.init_state(residual.make_block(3, 5, 2, np.random.default_rng(0))), train=True
    )
    assert halved.shape == (2, 5, 4, 4)


@pytest.mark.parametrize("method", ["dqn", "reinforce"])
def test_the_pole_is_learned_from_falls(method, capsys, tmp_path):
    episodes = "30" if method == "dqn" else "60"
    run("cart_pole", "--method", method, "--episodes", episodes, "--output", str(tmp_path / "pole.png"))
    assert f"after {episodes} episodes" in capsys.readouterr().out
    assert (tmp_path / "pole.png").read_bytes().startswith(SIGNATURE)


def test_the_pole_obeys_mechanics():
    cart_pole = import_module("examples.cart_pole")
    task = cart_pole.CartPole(np.random.default_rng(0))
    task.reset()
    steps = 1
    while not task.step(1)[1]:
        steps += 1
    assert 7 < steps < 12  # pushed one way only
    # Far from the cart's push, the total momentum changes by the force alone
    task.reset()
    before = task._state.copy()
    after = task.step(1)[0]
    change = (after - before) / cart_pole.TIME
    momentum = (cart_pole.CART + cart_pole.POLE) * change[1] + cart_pole.POLE * cart_pole.HALF_LENGTH * (
        change[3] * np.cos(before[2]) - before[3] ** 2 * np.sin(before[2])
    )
    np.testing.assert_allclose(momentum, cart_pole.FORCE, rtol=1e-4)
