"""Where photographs were taken, and of what: cameras and points from noisy pictures, by sparse least squares.

    python examples/bundle_adjustment.py --output bundle_adjustment.png

Needs ``pip install '.[examples]'``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from _common import BLUE, GREY, RED, figure_of, output_of, save
from matplotlib.figure import Figure

import tape
import tape.scipy

FOCAL = 800.0  # pixels
NOISE = 0.5  # pixels


class Scene(NamedTuple):
    """What is looked for, and what was seen: of each observation the camera, the point and the pixels.

    A camera is a rotation vector and a translation.
    """

    truth: dict[str, np.ndarray]
    camera_of: np.ndarray
    point_of: np.ndarray
    pixels: np.ndarray


def rotated(vectors: Any, points: Any) -> Any:
    """Points ``(k, 3)``, each turned by a rotation vector ``(k, 3)`` of its own (Rodrigues)."""
    angle = np.sqrt(np.sum(vectors**2, axis=1, keepdims=True))
    axis = vectors / angle
    along = np.sum(axis * points, axis=1, keepdims=True) * (1 - np.cos(angle))
    return points * np.cos(angle) + np.cross(axis, points) * np.sin(angle) + axis * along


def projected(cameras: Any, points: Any) -> Any:
    """Pixels ``(k, 2)`` of points ``(k, 3)``, each seen by a camera ``(k, 6)`` of its own."""
    seen = rotated(cameras[:, :3], points) + cameras[:, 3:]
    return FOCAL * seen[:, :2] / seen[:, 2:]


def scene(cameras: int = 8, points: int = 60, seed: int = 0) -> Scene:
    """Cameras on an arc around points on a torus; each point is seen by three of every four cameras."""
    rng = np.random.default_rng(seed)
    around, tilt = rng.uniform(0, 2 * np.pi, (2, points))
    ring = 2 + 0.7 * np.cos(tilt)
    torus = np.stack([ring * np.cos(around), 0.7 * np.sin(tilt), ring * np.sin(around)], axis=1)
    arc = np.tile([0.3, 0.0, 0.0, 0.0, 0.0, 8.0], (cameras, 1))
    arc[:, 1] = np.linspace(-0.9, 0.9, cameras)
    truth = {"cameras": arc, "points": torus}
    camera_of, point_of = np.nonzero(rng.permuted(np.arange(cameras)[:, None] % 4 + np.zeros(points), axis=0))
    pixels = projected(arc[camera_of], torus[point_of])
    return Scene(truth, camera_of, point_of, pixels + NOISE * rng.normal(size=pixels.shape))


def errors(unknowns: Any, scene: Scene) -> Any:
    """The reprojection errors ``(k, 2)`` in units of the noise; where the first camera is, is known."""
    cameras = np.concatenate([scene.truth["cameras"][:1], unknowns["cameras"]])
    missed = projected(cameras[scene.camera_of], unknowns["points"][scene.point_of]) - scene.pixels
    return missed / NOISE


def unknowns_of(scene: Scene) -> dict[str, np.ndarray]:
    """The unknowns as they are."""
    return {"cameras": scene.truth["cameras"][1:], "points": scene.truth["points"]}


def fit(scene: Scene, seed: int = 1) -> Any:
    """Cameras and points, from a start far off, by the sparse Jacobian."""
    rng = np.random.default_rng(seed)
    start = {key: part + 0.1 * rng.normal(size=part.shape) for key, part in unknowns_of(scene).items()}
    return tape.scipy.least_squares(errors, start, (scene,), jac_sparsity="auto", x_scale="jac", xtol=1e-10)


def expected_error(scene: Scene) -> float:
    """The root of the mean squared error, in units of the noise, that is left where as much is fitted.

    Nobody knows how large the scene is: one unknown less counts.
    """
    count = scene.pixels.size
    fitted = sum(part.size for part in unknowns_of(scene).values()) - 1
    return float(np.sqrt(1 - fitted / count))


def draw(scene: Scene, found: Any) -> Figure:
    """What the middle camera sees, and where its model has it; where the Jacobian is not zero."""
    figure, (left, right) = figure_of("Pixels of one camera", "Jacobian: errors by unknowns", size=(10, 5))
    mine = scene.camera_of == 4
    again = scene.pixels + NOISE * found.fun
    left.plot(*scene.pixels[mine].T, "o", color=GREY, label="seen")
    left.plot(*again[mine].T, "+", color=RED, label="projected")
    left.set(xlabel="pixel", ylabel="pixel", aspect="equal")
    left.legend(frameon=False)
    right.spy(found.jac, markersize=0.4, color=BLUE, aspect="auto")
    right.grid(visible=False)
    return figure


def main(argv: Sequence[str] | None = None) -> None:
    """Make the scene, find it again, print the errors, and save the picture."""
    output = output_of(argv, __doc__, "bundle_adjustment.png")
    made = scene()
    found = fit(made)
    rows, columns = found.jac.shape
    left = np.sqrt(np.mean(found.fun**2))
    print(
        f"{rows} errors of {columns} unknowns, {found.jac.nnz / rows / columns:.1%} of the Jacobian not zero"
    )
    expected = NOISE * expected_error(made)
    print(f"error {NOISE * left:.3f} pixels after {found.nfev} steps, {expected:.3f} expected")
    save(draw(made, found), output)


if __name__ == "__main__":
    main()
