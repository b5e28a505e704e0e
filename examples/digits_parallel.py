"""Train a network to read handwritten digits on several ranks: the same numbers as on one.

    mpiexec -n 4 python examples/digits_parallel.py
    python examples/digits_parallel.py

Each rank computes the gradients of its part of each batch; the mean over all is exchanged, and every rank
does the same update. Either command prints ``test loss 0.096089, test accuracy 97.50%``, and saves a picture.
Needs ``pip install '.[examples,mpi]'``; as root, Open MPI wants ``mpiexec --allow-run-as-root``, and
``--oversubscribe`` for more ranks than cores.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from _common import picture
from digits import accuracy_of, draw, make_params, model, number
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

import tape
from tape import distributed
from tape.optim import SGD


def loss(params: Sequence[Any], images: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
    """Mean cross-entropy of some images, and the fraction that is read correctly: both are means."""
    scores = model(params, images)
    is_right = np.argmax(scores, axis=1) == labels
    return tape.ops.softmax_cross_entropy(scores, labels), np.mean(np.where(is_right, 1.0, 0.0))


def train(data: Sequence[np.ndarray], options: argparse.Namespace) -> tuple[list[np.ndarray], np.ndarray]:
    """The trained parameters; and by epoch: training loss and accuracy, test loss and accuracy."""
    images, test_images, labels, test_labels = data
    params = [array.astype(np.float64) for array in make_params(np.random.default_rng(options.seed))]
    params = distributed.broadcast(params)
    optimizer = SGD(params, options.learning_rate, momentum=options.momentum)
    step = distributed.data_parallel(
        tape.compile(tape.value_and_grad(loss, has_aux=True)), threads=options.threads
    )
    history = []
    progress = trange(options.epochs, unit="epoch", disable=not distributed.is_root())
    for epoch in progress:
        optimizer.lr = options.learning_rate * (1 - epoch / options.epochs)
        sums, steps = np.zeros(2), 0
        for part in distributed.batches((images, labels), options.batch_size, seed=(options.seed, epoch)):
            (mean, accuracy), gradients = step(params, *part)
            optimizer.step(gradients)
            sums += mean, accuracy
            steps += 1
        scores = scores_of(params, test_images)
        test = tape.ops.softmax_cross_entropy(scores, test_labels), accuracy_of(scores, test_labels)
        history.append([*sums / steps, *test])
        progress.set_postfix_str("loss {:.4f}, accuracy {:.1%}".format(*history[-1]))
    return params, np.array(history)


def scores_of(params: Sequence[np.ndarray], images: np.ndarray) -> np.ndarray:
    """The scores of all images, of which each rank computes a part."""
    return distributed.gather(model(params, distributed.shard(images)))


def main(argv: Sequence[str] | None = None) -> None:
    """Train, and on root say how well the held-out digits are read, and save the picture."""
    parser = argparse.ArgumentParser(description="Train a network to read digits on several ranks.")
    add = parser.add_argument
    add("--epochs", type=number(int, 1), default=30, help="passes over the data (%(default)s)")
    add("--batch-size", type=number(int, 1), default=64, help="images in a step of all (%(default)s)")
    add("--learning-rate", type=number(float, 0), default=0.2, help="of the first step (%(default)s)")
    add("--momentum", type=number(float, 0, 1), default=0.9, help="what lasts of a step (%(default)s)")
    add("--threads", type=number(int, 1), default=1, help="of each rank (%(default)s)")
    add("--seed", type=number(int, 0, 2**32), default=0, help="of all random numbers (%(default)s)")
    add("--output", type=picture, default="digits_parallel.png", help='"" for none (%(default)s)')
    options = parser.parse_args(argv)

    images, labels = load_digits(return_X_y=True)
    data = train_test_split(images / 16, labels, test_size=0.2, stratify=labels, random_state=options.seed)
    start = time.perf_counter()
    params, history = train(data, options)
    seconds = time.perf_counter() - start
    predicted = scores_of(params, data[1]).argmax(axis=1)
    if not distributed.is_root():
        return
    print(f"{distributed.size()} ranks, {options.threads} threads: {seconds:.1f} s")
    print("test loss {2:.6f}, test accuracy {3:.2%}".format(*history[-1]))
    if options.output:
        draw(history, data[1], data[3], predicted).savefig(options.output, dpi=150)
        print(f"picture saved as {options.output}")


if __name__ == "__main__":
    main()
