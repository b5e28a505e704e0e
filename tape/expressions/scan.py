"""From the text of an expression to its statements, refusing all that has no place in one.

One linear pass, before Python's parser sees anything: characters, words and symbols are those of a list,
operands and operators take turns, parentheses match, and nothing is longer or deeper than that parser is
known to bear. So its own limits, and the ways to crash it, are out of reach. Knows nothing of what names
mean.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from tape.errors import ExpressionError

__all__ = ["DEPTH", "LENGTH", "OPERATORS", "Place", "Statement", "refuse", "statements"]

LENGTH = 100_000
"""How many characters a text may have."""
DEPTH = 100
"""How deeply parentheses, signs, powers and conditions may be nested, taken together."""
DIGITS = 300
"""How many characters a number may have."""
OPERATORS = 1000
"""How many operators one statement may have; Python's parser nests a long sum as deeply as it is long."""


class Place(NamedTuple):
    """Where something stands in a text. Lines and columns count from 1."""

    line: int
    column: int
    width: int


class Statement(NamedTuple):
    """One line of an expression: what is computed, and the name it gets, if any."""

    target: str | None
    source: str
    place: Place  # of the source
    target_place: Place


_FOREIGN = re.compile(r"[^\t\n\x20-\x7e]")
_TOKEN = re.compile(
    r"""(?P<blank>[ \t]+ | \#[^\n]*)
    | (?P<end>[\n;])
    | (?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?)
    | (?P<word>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<symbol>\*\*=|//=|<<=|>>=|\*\*|//|<<|>>|[<>=!]=|:=|->|[-+*/%@&|^]=|.)""",
    re.VERBOSE | re.ASCII,
)

_BINARY = frozenset(["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "<", ">", "<=", ">=", "==", "!="])
_JOINING = ("and", "or", "if", "else")
_REFUSED = {
    "^": "^ is xor in Python: write ** for powers",
    "!": "! means nothing here: write not for the opposite, gamma(n + 1) for a factorial",
    ".": "attributes are refused: write sin(x), not np.sin(x), and transpose(a), not a.T",
    "[": "subscripts and lists are refused: give every element, or array, a name of its own",
    "]": "subscripts and lists are refused: give every element, or array, a name of its own",
    "{": "braces are refused: an expression is made of numbers, names, operators and calls",
    "}": "braces are refused: an expression is made of numbers, names, operators and calls",
    ":": "a colon is refused: write x if c else y for a choice; there are no slices, blocks or lambdas",
    ":=": ":= is refused: write the assignment on a line of its own, y = ...",
    "->": "-> is refused: an expression has no annotations",
    "<<": "shifts are refused: write * 2**n",
    ">>": "shifts are refused: write / 2**n",
    "'": "strings are refused: an expression computes with numbers and arrays",
    '"': "strings are refused: an expression computes with numbers and arrays",
    "`": "strings are refused: an expression computes with numbers and arrays",
    "\\": "a backslash is refused: put parentheses around what goes on in the next line",
    "$": "$ is refused: an expression is plain text, not LaTeX",
    "?": "? is refused: write x if c else y for a choice",
}
_REFUSED_WORDS = {
    "True": "True is no number: write a comparison such as 1 > 0, or 1",
    "False": "False is no number: write a comparison such as 1 < 0, or 0",
    "None": "None is no number",
    "is": "is compares objects: write == for numbers",
    "in": "in is refused: compare with each value, x == 1 or x == 2",
    "lambda": "lambda is refused: an expression is a function already, of all names in it",
    "for": "loops and comprehensions are refused: arrays are computed as a whole, sum(x**2)",
    "import": "imports are refused: all functions there are can be called as they are",
    "from": "imports are refused: all functions there are can be called as they are",
}


def refuse(reason: str, text: str, place: Place) -> NoReturn:
    """Raise the error that shows this place in the text."""
    lines = text.split("\n")
    raise ExpressionError(reason, lines[place.line - 1], *place)


def statements(text: str) -> list[Statement]:
    """The statements of a text.

    Parameters
    ----------
    text : str
        Lines end with ``\\n``.

    Returns
    -------
    list of Statement
        At least one. Parentheses in their sources match, comments are blank, all else is as in the text.

    Raises
    ------
    ExpressionError
        At the first character that has no place in an expression.

    Examples
    --------
    >>> from tape.expressions.scan import statements
    >>> [(s.target, s.source) for s in statements("y = 2*x  # twice")]
    [('y', '2*x')]
    """
    if len(text) > LENGTH:
        line, column = text.count("\n", 0, LENGTH) + 1, LENGTH - text.rfind("\n", 0, LENGTH)
        refuse(f"{len(text)} characters are too many: the limit is {LENGTH}", text, Place(line, column, 1))
    if found := _FOREIGN.search(text):
        _refuse_character(text, found.start())
    scanner = _Scanner(text)
    scanner.run()
    if not scanner.statements:
        refuse("there is nothing to compute: write an expression such as sin(x)", text, Place(1, 1, 1))
    return scanner.statements


def _refuse_character(text: str, start: int) -> NoReturn:
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    character = text[start]
    name = unicodedata.name(character, "a control character")
    code = f"U+{ord(character):04X}"
    twin = unicodedata.normalize("NFKC", character)
    hint = f": write {twin}" if twin.isascii() and twin.isalnum() else ""
    refuse(f"{code}, {name}, is refused: only ASCII is read{hint}", text, Place(line, column, 1))


@dataclass(slots=True)
class _Level:
    """One open parenthesis, or the statement itself: what of its nesting has not ended."""

    place: Place
    is_call: bool = False
    signs: int = 0  # signs and powers: until the next operator
    nots: int = 0  # until the next and, or
    choices: int = 0  # until the next comma

    def release(self, *, nots: bool = False, choices: bool = False) -> int:
        """How much less deep it gets at an operator of lower precedence."""
        released, self.signs = self.signs, 0
        if nots:
            released, self.nots = released + self.nots, 0
        if choices:
            released, self.choices = released + self.choices, 0
        return released


class _Scanner:
    """The state of the pass: what is open, and what may come next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.statements: list[Statement] = []
        self.line, self.line_start = 1, 0
        self.begin(0)

    def begin(self, position: int) -> None:
        """A statement begins."""
        self.start: Place | None
        self.target_place: Place | None
        self.parts: list[str] = []  # its source so far, comments blanked
        self.target: str | None = None
        self.start = self.target_place = None
        self.levels = [_Level(self.place(position, 1))]
        self.depth = self.operators = 0
        self.previous, self.previous_end = "", -1
        self.kind = "start"  # of the previous token; after a number, a word or ")" comes an operator

    def place(self, position: int, width: int) -> Place:
        return Place(self.line, position - self.line_start + 1, width)

    @property
    def is_after_operand(self) -> bool:
        return self.kind in ("number", "name", "close")

    def run(self) -> None:
        """Read the text to its end."""
        for match in _TOKEN.finditer(self.text):
            kind, token = str(match.lastgroup), match.group()
            place = self.place(match.start(), len(token))
            if kind == "end":
                self.end(token, place, match.end())
                continue
            if kind == "blank":
                if self.start is not None:
                    self.parts.append(" " * len(token))
                continue
            if self.start is None:
                self.start = place
            self.parts.append(token)
            if self.kind == "number" and self.previous_end == match.start() and keyword.iskeyword(token):
                self.refuse(f"a blank is missing: write {self.previous} {token}", place)
            if kind == "number":
                if len(token) > DIGITS:
                    reason = (
                        f"a number of {len(token)} characters: a float holds 17 digits, the limit is {DIGITS}"
                    )
                    self.refuse(reason, place)
                self.operand("number", token, place)
            elif kind == "word":
                self.word(token, place)
            else:
                self.symbol(token, place)
            self.previous, self.previous_end = token, match.end()
        self.end("", self.place(len(self.text), 1), len(self.text))

    def end(self, token: str, place: Place, position: int) -> None:
        """A line ends, or the text."""
        if len(self.levels) > 1 and token == "\n":
            self.parts.append("\n")
            self.line, self.line_start = self.line + 1, position
            return
        if len(self.levels) > 1:
            self.refuse("this parenthesis is never closed", self.levels[-1].place)
        if self.start is not None or self.target:
            if self.start is None or not self.is_after_operand:
                self.refuse(f"something is missing after {self.previous}", self.last_place(place))
            source = "".join(self.parts).rstrip()
            self.statements.append(
                Statement(self.target, source, self.start, self.target_place or self.start)
            )
        if token == "\n":
            self.line, self.line_start = self.line + 1, position
        self.begin(position)

    def last_place(self, place: Place) -> Place:
        """Of an end, as a place inside of the text."""
        return place if place.column == 1 else place._replace(column=place.column - 1, width=1)

    def operand(self, kind: str, token: str, place: Place) -> None:
        if self.is_after_operand:
            if self.previous == "0" and token[0] in "xXoObB":
                self.refuse("write numbers in decimals", place)
            left = self.previous if self.kind != "close" else "(...)"
            self.refuse(f"an operator is missing: write {left}*{token}, or {left} + {token}", place)
        self.kind = kind

    def word(self, token: str, place: Place) -> None:
        if token.startswith("_"):
            self.refuse(f"{token}: names begin with a letter", place)
        if token in _JOINING:
            self.joining(token, place)
        elif token == "not":
            if self.is_after_operand:
                self.refuse(f"an operator is missing between {self.previous} and not", place)
            self.levels[-1].nots += 1
            self.deeper(place)
            self.kind = "operator"
        elif keyword.iskeyword(token):
            self.refuse(_REFUSED_WORDS.get(token, f"{token} is a word of Python's, and refused here"), place)
        else:
            self.operand("name", token, place)

    def joining(self, token: str, place: Place) -> None:
        self.after_operand(token, place)
        level = self.levels[-1]
        self.depth -= level.release(nots=True)
        if token == "else":
            level.choices += 1
            self.deeper(place)
        self.count(place)
        self.kind = "operator"

    def symbol(self, token: str, place: Place) -> None:
        if token == "(":
            self.open(place)
        elif token == ")":
            self.close(place)
        elif token == ",":
            self.comma(place)
        elif token == "=":
            self.assign(place)
        elif token in "+-~" and not self.is_after_operand:
            self.levels[-1].signs += 1
            self.deeper(place)
            self.count(place)
            self.kind = "operator"
        elif token in _BINARY:
            self.binary(token, place)
        elif token.endswith("=") and token != ":=":
            name = token[:-1]
            self.refuse(f"{token} is refused: write y = y {name} ...", place)
        else:
            self.refuse(_REFUSED.get(token, f"{token} has no place in an expression"), place)

    def binary(self, token: str, place: Place) -> None:
        if token in ("*", "**") and self.kind in ("open", "comma"):
            self.refuse("starred arguments are refused: write each argument", place)
        self.after_operand(token, place)
        level = self.levels[-1]
        if token == "**":
            level.signs += 1
            self.deeper(place)
        else:
            self.depth -= level.release()
        self.count(place)
        self.kind = "operator"

    def open(self, place: Place) -> None:
        is_call = self.kind == "name"
        if self.kind == "number":
            self.refuse(f"a number is no function: write {self.previous}*(...)", place)
        if self.kind == "close":
            self.refuse("only names can be called: write (...)*(...) for a product", place)
        self.levels.append(_Level(place, is_call))
        self.deeper(place)
        self.kind = "open"

    def close(self, place: Place) -> None:
        if len(self.levels) == 1:
            self.refuse("there is no parenthesis to close", place)
        level = self.levels.pop()
        if not self.is_after_operand and not (level.is_call and self.kind == "open"):
            self.refuse("something is missing before )", place)
        self.depth -= 1 + level.release(nots=True, choices=True)
        self.kind = "close"

    def comma(self, place: Place) -> None:
        self.after_operand(",", place)
        level = self.levels[-1]
        if not level.is_call:
            self.refuse("a comma only stands between arguments: an expression has one value", place)
        self.depth -= level.release(nots=True, choices=True)
        self.kind = "comma"

    def assign(self, place: Place) -> None:
        if len(self.levels) > 1:
            self.refuse("arguments have no names here: give them in order. To compare, write ==", place)
        if self.kind != "name" or "".join(self.parts[:-1]).strip() != self.previous or self.target:
            self.refuse("left of = stands one name, once. To compare, write ==", place)
        self.target, self.target_place, self.start, self.parts = self.previous, self.start, None, []
        self.kind = "operator"

    def after_operand(self, token: str, place: Place) -> None:
        if not self.is_after_operand:
            self.refuse(f"something is missing before {token}", place)

    def deeper(self, place: Place) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            self.refuse(f"nested more than {DEPTH} deep: give parts a name on a line of their own", place)

    def count(self, place: Place) -> None:
        self.operators += 1
        if self.operators > OPERATORS:
            self.refuse(f"more than {OPERATORS} operators: give parts a name on a line of their own", place)

    def refuse(self, reason: str, place: Place) -> NoReturn:
        refuse(reason, self.text, place)
