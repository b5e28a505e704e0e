"""LLVM IR of entries of scalar code, each of which does what `tape.kernels.compiled.scalars` does for it.

Operations and their order are the same, without fused or reordered arithmetic: so are the results, to the
last bit. What an entry has read or written is not read again as long as nothing overwrites it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tape.kernels.codes import SCALARS
from tape.program.native.opcodes import OFFSET_MASK, SLOT_BITS

__all__ = ["FUNCTIONS", "TYPES", "Cell", "Known", "Text"]

Cell = tuple[int, int]
"""A place in memory: slot and offset, in bytes."""
Known = dict[Cell, tuple[str, str]]
"""What is in memory: the letter of the type, and the name of the value."""

_NAMES = {code: key for key, code in SCALARS.items()}
TYPES = {"f": "double", "i": "i64", "b": "i8"}
_SIZES = {"f": 8, "i": 8, "b": 1}
_WIDEST = max(_SIZES.values())

FUNCTIONS = {
    "power": "pow", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tanh": "tanh", "expm1": "expm1",
    "log1p": "log1p", "arctan": "atan", "tan": "tan",
}  # fmt: skip
"""Operations that are functions of the C library, and their names there."""
_INTRINSICS = {"sqrt": "llvm.sqrt.f64", "absolute": "llvm.fabs.f64"}
_BINARY = {
    "ff->f": {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"},
    "ii->i": {"add": "add", "subtract": "sub", "multiply": "mul"},
}
_COMPARED = {
    "ff->b": ("fcmp", ["olt", "ole", "ogt", "oge", "oeq", "une"]),
    "ii->b": ("icmp", ["slt", "sle", "sgt", "sge", "eq", "ne"]),
}
_COMPARISONS = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]
_LOGIC = {"and": "and", "or": "or", "xor": "xor"}
_EXTREMES = {"ff->f": ("fcmp oge", "fcmp ole"), "ii->i": ("icmp sge", "icmp sle")}


class Text:
    """The text of instructions that compute with single numbers.

    Parameters
    ----------
    base : callable
        The name of the pointer to the beginning of a slot, by number.
    scratch : str
        The name of the pointer to where the last condition is kept, an int64; empty if nothing reads that.
    known : dict of Cell to tuple of str
        Values in memory that have a name already.
    silent : collection of int
        Slots that nothing is written to: see `read`.

    Attributes
    ----------
    lines : list of str
        The instructions.
    known : dict of Cell to tuple of str
        Values in memory by now.
    read : dict of Cell to str
        Where memory is read that had no known value, by type.
    written : dict of Cell to str
        Where memory is written, by type.
    reads_scratch : bool
        Whether a value is chosen by the condition that was there before.
    """

    def __init__(
        self,
        base: Callable[[int], str],
        scratch: str,
        known: Mapping[Cell, tuple[str, str]] | None = None,
        silent: Collection[int] = (),
    ) -> None:
        self.lines: list[str] = []
        self.known: Known = dict(known or {})
        self.read: dict[Cell, str] = {}
        self.written: dict[Cell, str] = {}
        self.reads_scratch = False
        self._base, self._scratch, self._silent = base, scratch, silent
        self._count = 0
        self._condition = ""

    def emit(self, text: str) -> str:
        """Append an instruction; return the name of its result."""
        self._count += 1
        self.lines.append(f"  %t{self._count} = {text}")
        return f"%t{self._count}"

    def entry(self, kind: int, x: int, y: int, out: int) -> None:
        """Append an entry, which has the fields of a row of "scalar"."""
        name, signature = _NAMES[kind]
        given, _, letter = signature.partition("->")
        if not letter:
            self._choose(self._flag(self.load("b", x)))
            return
        values = [self.load(of, operand) for of, operand in zip(given, (x, y), strict=False)]
        self._store(letter, out, self._result(name, signature, values, out))

    # ---- memory ------------------------------------------------------------------------------------

    def load(self, letter: str, operand: int) -> str:
        """Return the name of a number in memory."""
        at = operand >> SLOT_BITS, operand & OFFSET_MASK
        known = self.known.get(at)
        if known is None or known[0] != letter:
            self.read[at] = letter
            name = self.emit(f"load {TYPES[letter]}, ptr {self.pointer(*at)}")
            self.known[at] = known = letter, name
        return known[1]

    def _store(self, letter: str, operand: int, value: str) -> None:
        slot, offset = operand >> SLOT_BITS, operand & OFFSET_MASK
        for before in range(offset - _WIDEST + 1, offset + _SIZES[letter]):
            known = self.known.get((slot, before))
            if known is not None and before + _SIZES[known[0]] > offset:
                del self.known[slot, before]
        if slot not in self._silent:
            self.lines.append(f"  store {TYPES[letter]} {value}, ptr {self.pointer(slot, offset)}")
        self.known[slot, offset] = letter, value
        self.written[slot, offset] = letter

    def pointer(self, slot: int, offset: int) -> str:
        """Return the name of the pointer to a place in memory."""
        base = self._base(slot)
        return self.emit(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base

    def _choose(self, condition: str) -> None:
        self._condition = condition
        if not self._scratch:
            return
        wide = self.emit(f"zext i1 {condition} to i64")
        self.lines.append(f"  store i64 {wide}, ptr {self._scratch}")

    # ---- operations ----------------------------------------------------------------------------------

    def _result(self, name: str, signature: str, values: Sequence[str], out: int) -> str:
        a, b, emit = values[0], values[-1], self.emit
        letter = signature[-1]
        type_ = TYPES[signature[0]]
        if name in _BINARY.get(signature, ()):
            return emit(f"{_BINARY[signature][name]} {type_} {a}, {b}")
        if signature in _COMPARED:
            compare, kinds = _COMPARED[signature]
            return self._byte(emit(f"{compare} {kinds[_COMPARISONS.index(name)]} {type_} {a}, {b}"))
        if name == "where":
            if not self._condition:
                self._condition = self._flag_of_scratch()
            return emit(f"select i1 {self._condition}, {type_} {a}, {type_} {b}")
        if name == "positive":
            return a
        if name == "cast":
            return self._converted(signature, a)
        if letter == "b":
            return self._logic(name, values)
        if name in ("maximum", "minimum"):
            holds = emit(f"{_EXTREMES[signature][name == 'minimum']} {type_} {a}, {b}")
            if letter == "f":  # NaN stays
                holds = emit(f"or i1 {holds}, {emit(f'fcmp uno double {a}, {a}')}")
            return emit(f"select i1 {holds}, {type_} {a}, {type_} {b}")
        return self._float(name, values, out) if letter == "f" else self._int(name, a)

    def _float(self, name: str, values: Sequence[str], out: int) -> str:
        a, b, emit = values[0], values[-1], self.emit
        if name in FUNCTIONS:
            arguments = ", ".join(f"double {value}" for value in values)
            return emit(f"call double @{FUNCTIONS[name]}({arguments}) nobuiltin")
        if name in _INTRINSICS:
            return emit(f"call double @{_INTRINSICS[name]}(double {a})")
        if name == "negative":
            return emit(f"fneg double {a}")
        if name == "square":
            return emit(f"fmul double {a}, {a}")
        if name == "reciprocal":
            return emit(f"fdiv double 1.0, {a}")
        if name == "plus_zero":
            return emit(f"fadd double {a}, 0.0")
        if name == "multiply_plus_zero":
            return emit(f"fadd double {emit(f'fmul double {a}, {b}')}, 0.0")
        if name == "multiply_add":
            return emit(f"fadd double {self.load('f', out)}, {emit(f'fmul double {a}, {b}')}")
        assert name == "sign"
        above, below = (emit(f"fcmp {kind} double {a}, 0.0") for kind in ("ogt", "olt"))
        ones = [emit(f"uitofp i1 {flag} to double") for flag in (above, below)]
        found, is_nan = emit(f"fsub double {ones[0]}, {ones[1]}"), emit(f"fcmp uno double {a}, {a}")
        return emit(f"select i1 {is_nan}, double {a}, double {found}")

    def _int(self, name: str, a: str) -> str:
        negative = self.emit(f"sub i64 0, {a}")
        if name == "negative":
            return negative
        assert name == "absolute"
        return self.emit(f"select i1 {self.emit(f'icmp slt i64 {a}, 0')}, i64 {negative}, i64 {a}")

    def _logic(self, name: str, values: Sequence[str]) -> str:
        flags = [self._flag(value) for value in values]
        if name in ("logical_not", "invert"):
            return self._byte(self.emit(f"xor i1 {flags[0]}, true"))
        operation = _LOGIC[name.partition("_")[2]]
        return self._byte(self.emit(f"{operation} i1 {flags[0]}, {flags[1]}"))

    def _converted(self, signature: str, a: str) -> str:
        if signature == "i->f":
            return self.emit(f"sitofp i64 {a} to double")
        kind, target = ("uitofp", "double") if signature == "b->f" else ("zext", "i64")
        return self.emit(f"{kind} i1 {self._flag(a)} to {target}")

    def _flag(self, byte: str) -> str:
        return self.emit(f"icmp ne i8 {byte}, 0")

    def _flag_of_scratch(self) -> str:
        self.reads_scratch = True
        return self.emit(f"icmp ne i64 {self.emit(f'load i64, ptr {self._scratch}')}, 0")

    def _byte(self, flag: str) -> str:
        return self.emit(f"zext i1 {flag} to i8")
