"""Linear algebra and spectra at the edges of their arguments: NumPy's and SciPy's values, and derivatives."""

import numpy as np
import pytest

from tape import errors, ops
from tests.edges import check

RNG = np.random.default_rng(6)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
S = A @ A.T
APART = A + np.diag([0.0, 3.0, 6.0])
STACK = np.stack([A, A.T + 1, S])
TALL, WIDE = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 4))
B, MATRIX = RNG.normal(size=3), RNG.normal(size=(3, 2))
C = A + 1j * RNG.normal(size=(3, 3))
CUBE = RNG.normal(size=(2, 3, 4))
ROW, EVEN = RNG.normal(size=5), RNG.normal(size=6)
Z = ROW + 1j * RNG.normal(size=5)
EMPTY = np.zeros((0, 3, 3))
linalg = np.linalg

MATRICES = {
    "det": (linalg.det, A), "det of a stack": (linalg.det, STACK), "det of nothing": (linalg.det,
        np.zeros((0, 0))),
    "det of no matrices": (linalg.det, EMPTY), "det of one": (linalg.det, np.array([[2.5]])),
    "det complex": (linalg.det, C), "slogdet": (lambda a: linalg.slogdet(a)[1], -A),
    "slogdet sign": (lambda a: linalg.slogdet(a)[0], C),
        "slogdet of a stack": (lambda a: linalg.slogdet(a)[1], STACK),
    "inv": (linalg.inv, A), "inv of a stack": (linalg.inv, STACK), "inv complex": (linalg.inv, C),
    "inv of one": (linalg.inv, np.array([[2.5]])), "inv of no matrices": (linalg.inv, EMPTY),
    "solve a vector": (linalg.solve, A, B), "solve columns": (linalg.solve, A, MATRIX),
    "solve a vector with a stack": (lambda a, b: linalg.solve(a, b), STACK, B),
    "solve columns with a stack": (linalg.solve, STACK, MATRIX), "solve stacks": (linalg.solve, A, STACK),
    "solve complex": (linalg.solve, C, B), "solve nothing": (linalg.solve, A, np.zeros((3, 0))),
    "cholesky": (lambda a: linalg.cholesky(a @ a.T), A),
    "cholesky upper": (lambda a: linalg.cholesky(a @ a.T, upper=True), A),
    "cholesky of a stack": (lambda a: linalg.cholesky(a @ np.matrix_transpose(a)), STACK),
    "cholesky complex": (lambda a: linalg.cholesky(a @ np.conj(a.T)), C),
    "qr": (lambda a: linalg.qr(a)[0] * 2, TALL), "qr r": (lambda a: linalg.qr(a, mode="r"), TALL),
    "qr wide": (lambda a: linalg.qr(a, mode="r"), WIDE), "qr of a stack": (lambda a: linalg.qr(a)[1], STACK),
    "svd values": (lambda a: linalg.svd(a, compute_uv=False), TALL),
    "svd values wide": (lambda a: linalg.svd(a, compute_uv=False), WIDE),
    "svdvals of a stack": (linalg.svdvals, CUBE),
    "svd": (lambda a: (lambda u, s, v: (u * s[..., None, :]) @ v * s[..., :1, None])(*linalg.svd(a,
        False)), TALL),
    "svd wide": (lambda a: (lambda u, s, v: (u * s) @ v * s[0])(*linalg.svd(a, full_matrices=False)), WIDE),
    "eigvalsh": (lambda a: linalg.eigvalsh(a + a.T), A), "eigvalsh upper": (lambda a: linalg.eigvalsh(a,
        "U"), A),
    "eigvalsh lower": (lambda a: linalg.eigvalsh(a, "L"), A), "eigvalsh complex": (linalg.eigvalsh, C),
    "eigh": (lambda a: (lambda w, v: np.abs(v) * w)(*linalg.eigh(a)), A),
    "eigh upper": (lambda a: (lambda w, v: np.abs(v) * w)(*linalg.eigh(a, UPLO="U")), STACK),
    "eigvals": (lambda a: np.sort(np.abs(linalg.eigvals(a))), A),
    "pinv": (linalg.pinv, TALL), "pinv wide": (linalg.pinv, WIDE), "pinv of a stack": (linalg.pinv, CUBE),
    "pinv hermitian": (lambda a: linalg.pinv(a + a.T, hermitian=True), A),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], TALL, RNG.normal(size=4)),
    "lstsq columns": (lambda a, b: linalg.lstsq(a, b)[0], TALL, RNG.normal(size=(4, 2))),
    "lstsq residuals": (lambda a, b: linalg.lstsq(a, b)[1], TALL, RNG.normal(size=(4, 2))),
    "lstsq wide": (lambda a, b: linalg.lstsq(a, b)[0], WIDE, RNG.normal(size=2)),
    "matrix_power -2": (lambda a: linalg.matrix_power(a, -2), A), "matrix_power 0": (
        lambda a: linalg.matrix_power(a, 0) * a, A),
    **{f"matrix_power {n}": (lambda a, n=n: linalg.matrix_power(a, n), STACK) for n in (1, 2, 3, 5)},
    "multi_dot of two": (lambda a, b: linalg.multi_dot([a, b]), TALL, A),
    "multi_dot of three": (lambda a, b, c: linalg.multi_dot([a, b, c]), TALL, A, MATRIX),
    "multi_dot of vectors": (lambda a, b, c: linalg.multi_dot([c, b, a]), B, A, B * B),
    "multi_dot of four": (lambda a, b, c: linalg.multi_dot([a, b, b, c]), TALL, A, MATRIX),
    "tensorsolve": (linalg.tensorsolve, RNG.normal(size=(2, 3, 6)) + 4 * np.eye(6).reshape(2, 3, 6),
        X := RNG.normal(size=(2, 3))),
    "tensorsolve axes": (lambda a, b: linalg.tensorsolve(a, b, axes=(0,)), RNG.normal(size=(6, 2, 3)), X),
    "tensorinv": (lambda a: linalg.tensorinv(a, 1), RNG.normal(size=(6, 2, 3))),
    "tensorinv of pairs": (linalg.tensorinv, RNG.normal(size=(2, 3, 3, 2))),
    "cond": (linalg.cond, APART), "cond 1": (lambda a: linalg.cond(a, 1), STACK), "cond -2": (
        lambda a: linalg.cond(a, -2), TALL), "cond fro": (lambda a: linalg.cond(a, "fro"), A),
    "matrix_rank": (lambda a: linalg.matrix_rank(a), STACK), "cross": (linalg.cross, A, STACK),
    "outer": (linalg.outer, B, ROW), "vecdot": (linalg.vecdot, A, STACK), "vecdot first": (
        lambda a, b: linalg.vecdot(a, b, axis=0), A, S),
    "matmul": (linalg.matmul, STACK, A), "tensordot": (lambda a, b: linalg.tensordot(a, b, axes=([0],
        [1])), A, S),
}  # fmt: skip

NORMS = {
    **{f"norm {order}": (lambda x, order=order: linalg.norm(x, order), ROW * [1, 2, 3, 4, 5])
       for order in (None, 1, 2, 3.5, 1.5, -1, -2, np.inf, -np.inf)},
    **{f"norm of matrices {order}": (lambda x, order=order: linalg.norm(x, order, axis=(-2, -1)), CUBE)
       for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)},
    **{f"norm along {axis} {order}": (
        lambda x, order=order, axis=axis: linalg.norm(x, order, axis=axis, keepdims=True), CUBE)
       for order, axis in ((3, 1), (None, -1), (1, (0, 2)), ("fro", (2, 0)), (np.inf, (1, 0)))},
    "norm of all": (lambda x: linalg.norm(x), CUBE), "norm of all kept": (lambda x: linalg.norm(x,
        keepdims=True), CUBE),
    "norm complex": (lambda x: linalg.norm(x), C), "norm complex 3": (lambda x: linalg.norm(x, 3, axis=0), C),
    "vector_norm": (lambda x: linalg.vector_norm(x, axis=(0, 2), ord=3), CUBE),
    "vector_norm kept": (lambda x: linalg.vector_norm(x, keepdims=True, ord=1), CUBE),
    "matrix_norm": (lambda x: linalg.matrix_norm(x, keepdims=True, ord=1), CUBE),
    "norm of zeros": (lambda x: linalg.norm(x * 0), ROW, {"slopes": False}),
    "norm of nothing": (lambda x: linalg.norm(x, axis=0), np.zeros((0, 2))),
}  # fmt: skip

PRODUCTS = {
    **{f"{mode} {a.size} {v.size}": (lambda a, v, mode=mode: np.convolve(a, v, mode), a, v)
       for mode in ("full", "same", "valid") for a, v in ((ROW, B), (B, EVEN))},
    **{f"correlate {mode}": (lambda a, v, mode=mode: np.correlate(a, v, mode), ROW, B)
       for mode in ("full", "same", "valid")},
    "correlate complex": (lambda a, v: np.correlate(a, v, "full"), Z, Z[:3] * 1j),
    "kron": (np.kron, TALL, WIDE), "kron of more axes": (np.kron, CUBE, B), "kron with a number": (np.kron,
        TALL, np.array(2.5)),
    "outer": (np.outer, TALL, B), "inner": (np.inner, CUBE, WIDE), "inner with a number": (np.inner, TALL,
        np.array(2.5)),
    "vdot": (np.vdot, C, C * 1j), "vdot real": (np.vdot, TALL, TALL + 1),
    "dot of more axes": (np.dot, CUBE, RNG.normal(size=(2, 4, 3))), "dot with a number": (np.dot, TALL,
        np.array(2.5)),
    "dot with a vector": (np.dot, CUBE, RNG.normal(size=4)), "matvec": (np.matvec, STACK, B),
        "vecmat": (np.vecmat, B, STACK),
    "tensordot 0": (lambda a, b: np.tensordot(a, b, 0), A, B), "tensordot 1": (lambda a, b: np.tensordot(a,
        b, 1), TALL, A),
    "tensordot axes": (lambda a, b: np.tensordot(a, b, ([2, 0], [0, 1])), CUBE, RNG.normal(size=(4, 2, 2))),
    "cross": (np.cross, A, B), "cross first": (lambda a, b: np.cross(a, b, axisa=0, axisc=0), A[:, :2],
        A[:2]),
    "cross axis": (lambda a, b: np.cross(a, b, axis=0), A, S),
    **{f"einsum {s}": (lambda a, b, s=s: np.einsum(s, a, b), A, S)
       for s in ("ij,jk", "ij,ij->", "ii,jk->ki", "...i,...i->...", "ij,kl->ljik", "ij,jk->i", "ii,ii->i")},
    "einsum of one": (lambda a: np.einsum("iij->j", a), RNG.normal(size=(2, 2, 3))),
    "einsum of three": (lambda a, b, c: np.einsum("ij,jk,k->i", a, b, c, optimize=True), A, S, B),
    "einsum by lists": (lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), A, S),
}  # fmt: skip

POLYNOMIALS = {
    "polyval": (np.polyval, B, ROW), "polyval of a matrix": (np.polyval, B, A),
        "polyval of one": (np.polyval, B[:1], ROW),
    **{f"polyder {m}": (lambda p, m=m: np.polyder(p, m), ROW) for m in (0, 1, 2, 4)},
    **{f"polyint {m}": (lambda p, m=m: np.polyint(p, m), ROW) for m in (0, 1, 2)},
    "polyint from": (lambda p, k: np.polyint(p, 2, k), B, B[:2]), "polyint from one": (lambda p,
        k: np.polyint(p, 1, k), B, B[:1]),
    "polyadd": (np.polyadd, ROW, B), "polysub": (np.polysub, B, ROW), "polymul": (np.polymul, ROW, B),
    "polydiv": (lambda u, v: np.polydiv(u, v)[0], ROW, B + 3), "polydiv rest": (lambda u, v: np.polydiv(u,
        v)[1], ROW, B + 3),
    "poly": (np.poly, B), "poly of a matrix": (lambda a: np.poly(a), A, {"slopes": False}),
    "vander": (np.vander, B), "vander increasing": (lambda x: np.vander(x, 4, True), B),
        "vander 1": (lambda x: np.vander(x, 1), B),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), np.sort(ROW) * 2, ROW * ROW, {"tolerance": 1e-10}),
    "polyfit weighed": (lambda x, y, w: np.polyfit(x, y, 1, w=w), np.sort(ROW) * 2, ROW * ROW,
        ROW * ROW + 1, {"tolerance": 1e-10}),
    "polyfit columns": (lambda x, y: np.polyfit(x, y, 1), np.array([0.0, 0.7, 2.0, 3.1]), TALL,
        {"tolerance": 1e-10}),
}  # fmt: skip

fft = np.fft
SPECTRA = {
    **{f"{f.__name__} {n} {norm}": (lambda x, f=f, n=n, norm=norm: f(x, n, norm=norm), x)
       for f, x in ((fft.fft, ROW), (fft.ifft, Z), (fft.rfft, ROW), (fft.irfft, Z), (fft.hfft, Z),
        (fft.ihfft, ROW))
       for n, norm in ((None, None), (3, "ortho"), (8, "forward"), (7, "backward"))},
    **{f"{f.__name__} first": (lambda x, f=f: f(x, axis=0), x)
       for f, x in ((fft.fft, CUBE), (fft.ifft, CUBE), (fft.rfft, CUBE), (fft.irfft, C))},
    **{f"{f.__name__} {axes} {s}": (lambda x, f=f, axes=axes, s=s: f(x, s, axes, norm="ortho"), x)
       for f, x in ((fft.fftn, CUBE), (fft.rfftn, CUBE), (fft.ifftn, CUBE), (fft.irfftn,
        CUBE + 1j * CUBE[:, :, ::-1]))
       for axes, s in (((0, 2), None), ((1, 0), (4, 2)), ((2,), (3,)))},
    "fft2": (fft.fft2, CUBE), "rfft2": (fft.rfft2, CUBE), "irfft2": (fft.irfft2, CUBE + 0j),
        "ifft2": (fft.ifft2, CUBE),
    "fftshift": (fft.fftshift, CUBE), "ifftshift": (fft.ifftshift, CUBE),
        "fftshift last": (lambda x: fft.fftshift(x, -1), CUBE),
    "ifftshift of two": (lambda x: fft.ifftshift(x, (0, 1)), CUBE),
}  # fmt: skip

ALL = {
    f"{family}: {name}": call
    for family, calls in {
        "matrices": MATRICES, "norms": NORMS, "products": PRODUCTS, "polynomials": POLYNOMIALS,
        "spectra": SPECTRA,
    }.items()
    for name, call in calls.items()
}  # fmt: skip
_CONVOLVED = "each convolve each correlate"
_FITTED = "each lstsq each rank each residuals each singular_values"
_OTHERWISE = {
    _CONVOLVED: [
        *[f"products: {name}" for name in (
            "full 5 3", "full 3 6", "same 5 3", "same 3 6", "valid 5 3", "valid 3 6", "correlate valid")],
        "polynomials: poly",
    ],
    _FITTED: ["matrices: lstsq", "matrices: lstsq columns", "matrices: lstsq residuals",
        "matrices: lstsq wide"],
    f"{_FITTED} each of_full_rank": [
        "polynomials: polyfit", "polynomials: polyfit weighed", "polynomials: polyfit columns"],
    f"{_CONVOLVED} each trimmed": ["polynomials: polymul"],
    "solve": ["matrices: solve nothing"],
    "eig_like eigvals inverse_of_basis": ["matrices: eigvals"],
    "each matrix_rank": ["matrices: matrix_rank"],
    "each correlate": ["products: correlate full", "products: correlate same"],
    "correlate each correlate": ["products: correlate complex"],
    "each dot": ["products: inner", "products: dot of more axes", "products: dot with a vector"],
    "each polyval": ["polynomials: polyval of one"],
    "each trimmed": ["polynomials: polydiv", "polynomials: polydiv rest"],
    "convolve each convolve each of_conjugates eigvals of_conjugates": ["polynomials: poly of a matrix"],
}  # fmt: skip
OTHERWISE = {
    name: {*operations.replace("each ", "each_").split()}
    for operations, names in _OTHERWISE.items()
    for name in names
}
"""Calls of which programs have no instructions, or batches no rule, for some operations, and for which."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_edges_of_linear_algebra(name):
    f, *args = ALL[name]
    options = args.pop() if isinstance(args[-1], dict) else {}
    found = {one.replace("each ", "each_") for one in check(f, *args, **options)}
    assert found <= OTHERWISE.get(name, set())


WRONG = {
    "lstsq of stacks": (lambda: ops.linalg.lstsq(STACK, B), errors.ShapeError, "lstsq"),
    "lstsq of more columns": (lambda: ops.linalg.lstsq(A, STACK), errors.ShapeError, "lstsq"),
    "lstsq of another length": (lambda: ops.linalg.lstsq(TALL, B), errors.ShapeError, "lstsq"),
    "tensorinv of no square": (lambda: ops.linalg.tensorinv(CUBE, 1), errors.ShapeError,
        "tensorinv: .*2, 3, 4.*ind=1"),
    "det of no square": (lambda: ops.linalg.det(TALL), errors.ShapeError, "det"),
    "inv of a row": (lambda: ops.linalg.inv(ROW), errors.ShapeError, "inv"),
    "columns that depend on each other": (
        lambda: check(lambda a: np.linalg.qr(a)[0], np.ones((3, 2)), program=False, batch=False),
        errors.SingularMatrixError, "qr"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_told_by_name(name):
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()
