"""The table of instructions: every part of a program knows every instruction, and types are inferred once."""

import numpy as np
import pytest

from tape import errors
from tape.kernels.registry import GROUPS
from tape.program.ir.builder import Builder, CannotLower
from tape.program.ir.check import check
from tape.program.ir.instructions import Instruction
from tape.program.ir.table import BLOCKWISE, ELEMENTWISE, INSTRUCTIONS, SOURCES, VIEWS
from tape.program.ir.types import IllTyped
from tape.program.native.gufuncs import GUFUNCS
from tape.program.native.ufuncs import UFUNCS
from tape.program.runtime import encode, plain, plain_kernels
from tests import naive_program
from tests.naive_program import program_of

FLOAT, SINGLE, INT = np.dtype(float), np.dtype(np.float32), np.dtype(np.int64)
COMPLEX, HALF = np.dtype(complex), np.dtype(np.float16)
PLANNED = {"copy", "pair", "pair_at"}
COMPUTED = INSTRUCTIONS.keys() - SOURCES - VIEWS - ELEMENTWISE


def test_every_instruction_has_an_encoder():
    assert encode._ENCODERS.keys() == COMPUTED - {"pair"}  # which is encoded as elementwise ones are


def test_every_instruction_has_an_oracle():
    known = plain._OTHERS.keys() | UFUNCS.keys() | GUFUNCS.keys() | SOURCES | {"guard", "callback"}
    assert known == INSTRUCTIONS.keys() - PLANNED
    by_encoder = {
        "products of doubles",
        "products of singles",
        "products by rows",
        "products of stacks",
    }  # which no lower rule asks for
    assert plain_kernels.KERNELS.keys() == {
        name for group, kernels in GROUPS.items() if group not in by_encoder for name in kernels
    }


def test_roles_are_disjoint_and_ufuncs_elementwise():
    for one, other in ((SOURCES, VIEWS), (SOURCES, BLOCKWISE), (VIEWS, BLOCKWISE)):
        assert one.isdisjoint(other)
    assert UFUNCS.keys() | {"where", "cast"} == ELEMENTWISE
    assert PLANNED - {"pair_at"} == BLOCKWISE - ELEMENTWISE


def values(b, *types):
    return [b.input(shape, dtype) for shape, dtype in types]


@pytest.mark.parametrize(
    ("op", "types", "attrs", "shape", "dtype"),
    [
        ("add", [((2, 1), FLOAT), ((3,), FLOAT)], (), (2, 3), FLOAT),
        ("less", [((2,), SINGLE), ((), SINGLE)], (), (2,), np.dtype(bool)),
        ("where", [((3,), np.dtype(bool)), ((2, 1), INT), ((), INT)], (), (2, 3), INT),
        ("transpose", [((2, 3, 4), FLOAT)], ((2, 0, 1),), (4, 2, 3), FLOAT),
        ("fold", [((2, 3, 4), FLOAT)], ("sum", (1, 2)), (2,), FLOAT),
        ("fold", [((2, 3, 4), FLOAT)], ("argmax", (1,)), (2, 4), INT),
        ("sum_product", [((2, 3), SINGLE), ((2, 3), SINGLE)], ("sum", (0,)), (3,), SINGLE),
        ("numpy_fold", [((2, 3, 4), SINGLE)], ("sum", (0, 1)), (4,), SINGLE),
        ("numpy_fold", [((2, 3), HALF)], ("max", (1,)), (2,), HALF),
        ("numpy_matmul", [((2, 3), SINGLE), ((5, 3, 6), SINGLE)], (), (5, 2, 6), SINGLE),
        ("numpy_matmul", [((2, 3), COMPLEX), ((3, 6), COMPLEX)], (), (2, 6), COMPLEX),
        ("reals", [((2, 3), COMPLEX)], (), (2, 3, 2), FLOAT),
        ("complexes", [((3, 2), SINGLE)], (), (3,), np.dtype(np.complex64)),
        ("fft", [((2, 3), COMPLEX), ((), FLOAT)], (5,), (2, 5), COMPLEX),
        ("scan", [((2, 3), INT)], ("sum", 1, False), (2, 3), INT),
        ("matmul", [((5, 1, 2, 3), FLOAT), ((4, 3, 6), FLOAT)], (), (5, 4, 2, 6), FLOAT),
        ("matmul_add", [((6,), FLOAT), ((2, 3), FLOAT), ((3, 6), FLOAT)], (2.0,), (2, 6), FLOAT),
        ("solve", [((3, 3), FLOAT), ((2, 3), FLOAT)], (), (2, 3), FLOAT),
        ("cholesky", [((2, 3, 3), SINGLE)], (True,), (2, 3, 3), SINGLE),
        ("take", [((2, 3), FLOAT), ((5,), INT)], (1,), (2, 5), FLOAT),
        ("ravel_index", [((5,), INT), ((5,), INT)], ((2, 3), True), (5,), INT),
        ("add_at", [((4,), FLOAT), ((2,), FLOAT)], ((0,), (2,)), (4,), FLOAT),
        ("put", [((4,), INT), ((2,), INT)], ((3,), (-2,)), (4,), INT),
        ("concatenate", [((2, 3), FLOAT), ((2, 4), FLOAT)], (1,), (2, 7), FLOAT),
    ],
)  # fmt: skip
def test_the_builder_infers_what_the_checker_accepts(op, types, attrs, shape, dtype):
    b = Builder()
    result = b.push(op, values(b, *types), attrs)
    assert (result.shape, result.dtype) == (shape, dtype)
    b.ir.outputs = [result.id]
    check(b.ir)


@pytest.mark.parametrize(
    ("op", "types", "attrs", "options"),
    [
        ("add", [((2,), FLOAT), ((3,), FLOAT)], (), {}),
        ("add", [((2,), FLOAT), ((2,), INT)], (), {}),
        ("matmul", [((2, 3), INT), ((3, 2), INT)], (), {}),
        ("matmul", [((2, 3), FLOAT), ((2, 3), FLOAT)], (), {}),
        ("matmul_add", [((5, 2, 2), FLOAT), ((2, 3), FLOAT), ((3, 2), FLOAT)], (1.0,), {}),
        ("cast", [((2,), FLOAT)], (), {"dtype": np.dtype(complex)}),
        ("reshape", [((2, 3), FLOAT)], (), {"shape": (4,)}),
        ("broadcast", [((2, 3), FLOAT)], (), {"shape": (3,)}),
        ("slice", [((4,), FLOAT)], ((1,), (2,)), {"shape": (3,)}),
        ("fold", [((0, 3), FLOAT)], ("max", (0,)), {}),
        ("solve", [((0, 0), FLOAT), ((2, 0), FLOAT)], (), {}),
        ("put", [((4,), FLOAT), ((2,), INT)], ((0,), (1,)), {}),
        ("kernel", [((4,), FLOAT)], ("no such kernel", ()), {"shape": (4,)}),
    ],
)
def test_what_does_not_fit_cannot_be_lowered(op, types, attrs, options):
    b = Builder()
    with pytest.raises(CannotLower) as caught:
        b.push(op, values(b, *types), attrs, **options)
    assert isinstance(caught.value, IllTyped)
    assert len(b.ir.instructions) == len(types)


def test_copies_are_for_the_planner_alone():
    b = Builder()
    (x,) = values(b, ((2,), FLOAT))
    b.ir.instructions.append(Instruction("copy", (x.id,), (), (2,), FLOAT))
    with pytest.raises(errors.ProgramError, match="no such instruction"):
        check(b.ir)


def test_bools_are_taken_by_index_natively():
    mask, index = np.array([True, False, True]), np.array([2, 1, 1, 0, -1])
    program = program_of(lambda mask, index: mask[index], mask, index)
    assert naive_program.counts(program.ir) == {"take": 1}
    np.testing.assert_array_equal(program(mask, index), mask[index])
