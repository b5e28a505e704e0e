"""Tokens and statements of an expression: the check that runs before Python's parser.

Python's parser reads much that is no arithmetic, can be exhausted by nesting, and calls most mistakes
"invalid syntax". So this pass bounds the length, the nesting and the operators of a text, lets only the
characters and words of arithmetic through, and says what is missing where. Knows nothing of names.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from tape.errors import ExpressionError

LENGTH = 100_000
"""The most characters of a text."""
DEPTH = 100
"""How deep parentheses, signs, powers and choices may be nested, taken together."""
DIGITS = 300
"""The most characters of a number."""
OPERATORS = 1000
"""The most operators of a statement: Python's parser nests a long sum as deeply as it is long."""


class Place(NamedTuple):
    """A place in a text. Lines and columns count from 1."""

    line: int
    column: int
    width: int


class Statement(NamedTuple):
    """The source of an expression, and the name its value is assigned to, if any."""

    target: str | None
    source: str
    place: Place  # of the source
    target_place: Place


class _Token(NamedTuple):
    kind: str  # "number", "name", "symbol" (words of Python's are symbols too), "end"
    text: str
    start: int
    place: Place


_FOREIGN = re.compile(r"[^\t\n\x20-\x7e]")
_COMMENT = re.compile(r"#[^\n]*")
_TOKEN = re.compile(
    r"""(?P<number>(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?[jJ]?)
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | (?P<end>[\n;])
    | (?P<symbol>\*\*=|//=|<<=|>>=|\*\*|//|<<|>>|[<>=!]=|:=|->|[-+*/%@&|^]=|[^ \t])""",
    re.VERBOSE | re.ASCII,
)
_SIGNS = frozenset(["+", "-", "~", "not"])
_BINARY = frozenset(["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "<", ">", "<=", ">=", "==", "!="])
_BETWEEN = _BINARY | {"and", "or", "if", "else", ","}

_SUBSCRIPTS = "subscripts and lists are not supported: give every element, or array, a name of its own"
_BRACES = "braces are not supported: an expression is made of numbers, names, operators and calls"
_SHIFTS = "shifts are not supported: write {} 2**n"
_STRINGS = "strings are not supported: an expression computes with numbers and arrays"
_IMPORTS = "imports are not supported: every function can be called by its name"
_REFUSED = {
    "^": "^ is xor in Python: write ** for powers",
    "!": "! has no meaning here: write not for the opposite, gamma(n + 1) for a factorial",
    ".": "attributes are not supported: write sin(x), not np.sin(x), and transpose(a), not a.T",
    "[": _SUBSCRIPTS,
    "]": _SUBSCRIPTS,
    "{": _BRACES,
    "}": _BRACES,
    ":": "a colon is not supported: write x if c else y for a choice; there are no slices, blocks or lambdas",
    ":=": ":= is not supported: write the assignment on a line of its own, y = ...",
    "->": "-> is not supported: an expression has no annotations",
    "<<": _SHIFTS.format("*"),
    ">>": _SHIFTS.format("/"),
    "'": _STRINGS,
    '"': _STRINGS,
    "`": _STRINGS,
    "\\": "a backslash is not supported: to go on in the next line, use parentheses",
    "$": "$ is not supported: an expression is plain text, not LaTeX",
    "?": "? is not supported: write x if c else y for a choice",
    "True": "True is not a number: write a comparison such as 1 > 0, or 1",
    "False": "False is not a number: write a comparison such as 1 < 0, or 0",
    "None": "None is not a number",
    "is": "is compares objects: write == for numbers",
    "in": "in is not supported: compare with each value, x == 1 or x == 2",
    "lambda": "lambda is not supported: an expression is already a function of all names in it",
    "for": "loops and comprehensions are not supported: arrays are computed as a whole, sum(x**2)",
    "import": _IMPORTS,
    "from": _IMPORTS,
}


def refuse(reason: str, text: str, place: Place) -> NoReturn:
    """Raise the error that shows this place in the text."""
    lines = text.split("\n")
    raise ExpressionError(reason, lines[place.line - 1], *place)


def statements(text: str) -> list[Statement]:
    """Split a text into statements.

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
        reason = f"the text has {len(text)} characters: the limit is {LENGTH}"
        refuse(reason, text, _place_of(text, LENGTH))
    if foreign := _FOREIGN.search(text):
        _refuse_character(text, foreign.start())
    blanked = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
    found: list[Statement] = []
    tokens: list[_Token] = []
    opened: list[int] = []  # which of the tokens are parentheses that are open
    depths = [[0, 0]]  # see _nest
    for token in _tokens(text, blanked):
        if token.kind == "end":
            if opened and token.text != "\n":
                refuse("this parenthesis is never closed", text, tokens[opened[-1]].place)
            if tokens and not opened:
                found.append(_statement(text, blanked, tokens))
                tokens, depths = [], [[0, 0]]
            continue
        if (complaint := _complaint(tokens, opened, token)) is not None:
            refuse(complaint, text, token.place)
        if token.text == "(":
            opened.append(len(tokens))
        elif token.text == ")":
            opened.pop()
        _nest(depths, token, _is_operator_next(tokens))
        if sum(depths[-1]) > DEPTH:
            reason = f"nested more than {DEPTH} deep: give parts a name on a line of their own"
            refuse(reason, text, token.place)
        tokens.append(token)
    if not found:
        refuse("there is nothing to compute: write an expression such as sin(x)", text, Place(1, 1, 1))
    return found


def _place_of(text: str, start: int) -> Place:
    return Place(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), 1)


def _refuse_character(text: str, start: int) -> NoReturn:
    character = text[start]
    name = unicodedata.name(character, "a control character")
    twin = unicodedata.normalize("NFKC", character)
    hint = f": write {twin}" if twin.isascii() and twin.isalnum() else ""
    reason = f"U+{ord(character):04X}, {name}, is not supported: only ASCII is read{hint}"
    refuse(reason, text, _place_of(text, start))


def _tokens(text: str, blanked: str) -> Iterator[_Token]:
    """Yield all tokens, and an end; refuse numbers that are too long and names with a leading underscore."""
    line, line_start = 1, 0
    for match in _TOKEN.finditer(blanked):
        kind, token, start = str(match.lastgroup), match.group(), match.start()
        place = Place(line, start - line_start + 1, len(token))
        if kind == "number" and len(token) > DIGITS:
            refuse(
                f"a number of {len(token)} characters: a float holds 17 digits, the limit is {DIGITS}",
                text,
                place,
            )
        if kind == "name" and token.startswith("_"):
            refuse(f"{token}: names begin with a letter", text, place)
        if kind == "name" and keyword.iskeyword(token):
            kind = "symbol"
        yield _Token(kind, token, start, place)
        if token == "\n":
            line, line_start = line + 1, match.end()
    yield _Token("end", "", len(text), Place(line, len(text) - line_start + 1, 1))


def _is_operator_next(tokens: list[_Token]) -> bool:
    """Whether an operand is complete, so that an operator or the end comes next."""
    return bool(tokens) and (tokens[-1].kind in ("number", "name") or tokens[-1].text == ")")


def _nest(depths: list[list[int]], token: _Token, is_operator_next: bool) -> None:
    """Keep track of how deep Python's parser will nest, for the statement and each parenthesis in it.

    That is, the depth it stands at with its choices, and the signs, nots and powers since the last operator.
    """
    if token.text == "(":
        depths.append([sum(depths[-1]) + 1, 0])
    elif token.text == ")":
        depths.pop()
    elif token.text == "**" or (token.text in _SIGNS and not is_operator_next):
        depths[-1][1] += 1
    elif token.text in _BETWEEN:
        depths[-1][0] += token.text == "else"
        depths[-1][1] = 0


def _complaint(tokens: list[_Token], opened: list[int], token: _Token) -> str | None:
    """Return what is wrong with a token after those before it in the statement; None if nothing is."""
    before = tokens[-1] if tokens else _Token("end", "", -1, token.place)
    text, is_operator_next = token.text, _is_operator_next(tokens)
    is_call = bool(opened) and tokens[opened[-1] - 1].kind == "name" and opened[-1] > 0
    if before.kind == "number" and keyword.iskeyword(text) and token.start == before.start + len(before.text):
        return f"a blank is missing: write {before.text} {text}"
    if text in _REFUSED:
        return _REFUSED[text]
    if text == "=":
        if opened:
            return "arguments have no names here: give them in order. To compare, write =="
        is_assignment = len(tokens) == 1 and before.kind == "name"
        return None if is_assignment else "left of = stands one name, once. To compare, write =="
    if text == "(":
        if before.text == ")":
            return "only names can be called: write (...)*(...) for a product"
        return f"a number is not a function: write {before.text}*(...)" if before.kind == "number" else None
    if text == ")":
        if not opened:
            return "there is no parenthesis to close"
        is_empty_call = is_call and before.text == "("
        return None if is_operator_next or is_empty_call else "something is missing before )"
    if token.kind in ("number", "name") or (text == "not" and is_operator_next):
        if not is_operator_next:
            return None
        if before.text == "0" and text[0] in "xXoObB":
            return "write numbers in decimals"
        left = "(...)" if before.text == ")" else before.text
        return f"an operator is missing: write {left}*{text}, or {left} + {text}"
    if text in _BETWEEN and is_operator_next:
        is_stray = text == "," and not is_call
        return "a comma only stands between arguments: an expression has one value" if is_stray else None
    if text in _SIGNS:
        return None
    if text in _BETWEEN:
        is_star = text in ("*", "**") and before.text in ("(", ",")
        return (
            "starred arguments are not supported: write each argument"
            if is_star
            else f"something is missing before {text}"
        )
    if text.endswith("="):
        return f"{text} is not supported: write y = y {text[:-1]} ..."
    return f"{text} has no place in an expression"


def _statement(text: str, blanked: str, tokens: list[_Token]) -> Statement:
    operators = [token for token in tokens if token.text in _SIGNS | _BETWEEN and token.text != ","]
    if len(operators) > OPERATORS:
        reason = f"more than {OPERATORS} operators: give parts a name on a line of their own"
        refuse(reason, text, operators[OPERATORS].place)
    first, last = tokens[0], tokens[-1]
    if not _is_operator_next(tokens):
        end = last.place.column + last.place.width - 1
        place = last.place._replace(column=end, width=1)
        refuse(f"something is missing after {last.text}", text, place)
    is_assignment = len(tokens) > 1 and tokens[1].text == "="
    start = tokens[2] if is_assignment else first
    source = blanked[start.start : last.start + len(last.text)]
    return Statement(first.text if is_assignment else None, source, start.place, first.place)
