"""Sums of products, in the notation of Einstein."""

from tests.op_table.case import Case, complexes, real


def einsum(subscripts: str, *shapes: tuple[int, ...]) -> Case:
    title = f"einsum {subscripts.replace(' ', '_')}"
    return Case(title, lambda ns, *args: ns.einsum(subscripts, *args), *(real(*shape) for shape in shapes))


CASES = [
    einsum("ij,jk->ik", (2, 3), (3, 4)),
    einsum("ij , jk", (2, 3), (3, 2)),
    einsum("bij,bjk->bki", (2, 2, 3), (2, 3, 4)),
    einsum("i,j->ji", (2,), (3,)),
    einsum("ij,ij", (2, 3), (2, 3)),
    einsum("i,", (3,), ()),
    einsum("ii", (3, 3)),
    einsum("iij->ji", (2, 2, 3)),
    einsum("iii->i", (3, 3, 3)),
    einsum("ij->j", (2, 3)),
    einsum("ijk->kij", (2, 3, 2)),
    einsum("ii,i->", (2, 2), (2,)),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    einsum("i,ij,j->", (2,), (2, 3), (3,)),
    einsum("ij,kl->il", (2, 3), (2, 3)),
    einsum("...ij,...jk", (4, 1, 2, 3), (2, 3, 2)),
    einsum("i...,i...->...", (3, 2), (3,)),
    einsum("ij,ij->ij", (1, 3), (2, 1)),
    einsum("ij,j->i", (0, 3), (3,)),
    einsum("ij,j->i ", (2, 0), (0,)),
    Case("einsum lists", lambda ns, a, b: ns.einsum(a, [0, 1], b, [1, ..., 2], [2, ..., 0]),
         real(2, 3), real(3, 2, 2)),
    Case("einsum lists implicit", lambda ns, a, b: ns.einsum(a, [2, 1], b, [1, 0]), real(2, 3), real(3, 2)),
    Case("einsum optimize", lambda ns, *args: ns.einsum("ij,jk,k->i", *args, optimize=True),
         real(2, 3), real(3, 2), real(2)),
    Case("einsum complex", lambda ns, a, b: ns.einsum("ij,jk->ki", a, b), complexes(2, 3), complexes(3, 2)),
    Case("einsum complex by real", lambda ns, a, b: ns.einsum("ij,j", a, b), complexes(2, 3), real(3)),
]  # fmt: skip
