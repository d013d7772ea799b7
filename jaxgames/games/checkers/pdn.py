"""Games of checkers as text: a reader and a writer of PDN, Portable Draughts Notation.

    for game in checkers_pdn.read(checkers_pdn.decode(path.read_bytes())):
        if isinstance(game, checkers_pdn.BrokenGame):
            print(f"line {game.line}: {game.reason}")
    print(checkers_pdn.write(checkers_pdn.record(actions, headers={"Event": "match 1"})))

A file has games one after the other, and line ends mean no more than blanks. A header `[Name "value"]` ends the game
before it, unless only other headers stand there. So does a result. Every game is replayed by the rules. For one that
cannot be read there is a `BrokenGame`, and the reader continues with the next.

Source: the PDN 3.0 standard, and files as people write them. docs/games/checkers.md has an example, and lists what is
accepted and why this is not left to another library.
"""

import functools
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import jax

from jaxgames import _text_files
from jaxgames.games.checkers.rules import Checkers, CheckersState
from jaxgames.games.checkers.whole_moves import Board, Path, text_of, texts_of, visits

START = "B:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
BLACK_WINS, WHITE_WINS, DRAW, UNKNOWN_RESULT = "1-0", "0-1", "1/2-1/2", "*"  # seat 0 is Black; PDN counts it first
REWARDS = {BLACK_WINS: (1, -1), WHITE_WINS: (-1, 1), DRAW: (0, 0)}  # of the seats, by result
GAME_TYPE = "21"  # PDN's number of American checkers
LINE_WIDTH = 79
MAX_SHOWN = 60  # characters of a text in a message
COLOURS = ("Black", "White")  # of the seats

_RESULTS = {result: result for result in (*REWARDS, UNKNOWN_RESULT)} | {
    "2-0": BLACK_WINS,
    "0-2": WHITE_WINS,
    "1-1": DRAW,
    "1/2": DRAW,
    "0-0": UNKNOWN_RESULT,  # both lost, or not played
}
_NAMES = {
    name.lower(): name
    for name in ("Event", "Site", "Date", "Round", *COLOURS, "Result", "SetUp", "FEN", "GameType")  # that are looked up
}
_DASH = "[-\u2010-\u2015\u2212]"  # also the hyphens, dashes and the minus of Unicode
_SIGN = rf"(?: \s* (?: {_DASH} | [xX\u00d7:] ) \s* )"  # of a move; \u00d7 is a cross
_HALF = "(?: 1/2 | ½ )"
_JOINED = r"\ufeff\x1a"  # a byte order mark, and the end of a file of DOS: files are joined
_HEADER = re.compile(r'\[\s*([A-Za-z_]\w*)\s*"([^\n]*?)"\s*\]')
_HEADER_BEGINS = r'\[\s*[A-Za-z_]\w*\s*"'
_NO_HEADER_LINE = rf"[^\n] | \n(?![ \t{_JOINED}]*{_HEADER_BEGINS})"
_TOKEN = re.compile(
    rf"""[\s{_JOINED}]+\0* | (?<!\A)\0+\Z | ;[^\n]* | (?<![^\n{_JOINED}])%[^\n]*
    | \{{ [^{{}}]* \}} | \{{ (?: (?!\}}) (?: {_NO_HEADER_LINE} ) )* \}}  # a comment with a {{ ends before a header
    | (?P<unclosed> \{{ (?: {_NO_HEADER_LINE} )* )
    | (?P<header> {_HEADER.pattern} ) | (?P<no_header> {_HEADER_BEGINS}[^\n]* )
    | (?P<result> (?: {_HALF} (?: \s*{_DASH}\s* {_HALF} )? | 1\s*{_DASH}\s*[01] | [02]\s*{_DASH}\s*0
        | 0\s*{_DASH}\s*[12] | \* ) (?!\d) )
    | (?P<move> \d{{1,2}} (?: {_SIGN} \d{{1,2}} )+ (?!\d) ) [!?*]*
    | \d+\s*\.+ | \d+ (?= \s+ \d{{1,2}} {_SIGN} \d ) | \.+ | \$\d+ | [!?]+  # move numbers and marks
    | (?P<number_or_close> \d+\s*\) ) | (?P<open> \( ) | (?P<close> \) )
    | (?P<word> \S+?(?=[\s(){{;]|\Z) )  # no PDN""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class PdnGame:
    """One recorded game, legal from its start."""

    actions: tuple[int, ...]  # of the env, one per ply
    moves: tuple[str, ...]  # one text per turn, a capture with all its squares
    start: str = START  # the position before the first move, as the env's `to_string` writes it
    result: str = UNKNOWN_RESULT  # one of BLACK_WINS, WHITE_WINS, DRAW, UNKNOWN_RESULT
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)  # without Result, SetUp and FEN
    line: int = field(default=0, compare=False)  # where it begins in the text that it was read from, from 1

    @property
    def text(self) -> str:
        """The moves, separated by spaces, after the start if that is not the game's. Equal for duplicates."""
        return " ".join(self.moves if self.start == START else (self.start, *self.moves))


@dataclass(frozen=True)
class BrokenGame:
    """A game that could not be read."""

    line: int  # of the problem, from 1
    reason: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)


def decode(content: bytes) -> str:
    """Returns the text of a file in UTF-8, UTF-16 with a byte order mark, or Windows-1252, a superset of Latin-1."""
    return _text_files.decode(content)


def read(text: str) -> Iterator[PdnGame | BrokenGame]:
    """Yields the games of a text in their order, and a `BrokenGame` for each that cannot be read."""
    for draft in _drafts(_tokens(text.replace("\r\n", "\n").replace("\r", "\n"))):
        yield _replayed(draft)


def record(
    actions: Iterable[int],
    *,
    start: str = START,
    result: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> PdnGame:
    """Returns the game that some actions of the env make.

    Args:
      actions: legal actions from `start`. They can end in the middle of a capture.
      start: a position, as the env's `to_string` writes it.
      result: BLACK_WINS, WHITE_WINS, DRAW or UNKNOWN_RESULT. None: by the last position. A mover who cannot move has
        lost; otherwise the result is UNKNOWN_RESULT.
      headers: names and values for the head of the game, without Result, SetUp and FEN.
    """
    if result is not None and result not in (*REWARDS, UNKNOWN_RESULT):
        raise ValueError(f"result must be one of {', '.join((*REWARDS, UNKNOWN_RESULT))}, not {result!r}")
    state, start = _position(start)
    board = Board.of(state)
    moves: list[str] = []
    played: list[int] = []
    remaining = iter(actions)
    for first in remaining:
        path = board.path_of(itertools.chain((int(first),), map(int, remaining)))
        played += board.play(path)
        moves.append(text_of(path))
    if result is None:
        result = UNKNOWN_RESULT if board.legal_paths() else (WHITE_WINS, BLACK_WINS)[board.seat]
    return PdnGame(tuple(played), tuple(moves), start, result, dict(headers or {}))


def write(game: PdnGame) -> str:
    """Returns a game as PDN, with an empty line at its end; `read` returns an equal game.

    Raises ValueError for a header that PDN cannot hold.
    """
    taken = [*map(str.lower, game.headers), "result", "setup", "fen"]
    for name in game.headers:
        if _NAMES.get(name.lower(), name) != name or taken.count(name.lower()) > 1:
            raise ValueError(f"a header must have a name of its own, in the capitals of the standard, not {name!r}")
    headers = dict(game.headers) | {"Result": game.result}
    if game.start != START:
        headers |= {"SetUp": "1", "FEN": game.start}
    for name, value in headers.items():
        if _HEADER.findall(f'[{name} "{value}"]') != [(name, value)] or "\r" in value:
            raise ValueError(f'a header must be a word and one line without "], not {name!r} and {value!r}')
    first = "BW".index(game.start[0])
    words = ["1..."] if first and game.moves else []
    for turn, move in enumerate(game.moves, start=first):
        words += [move] if turn % 2 else [f"{turn // 2 + 1}.", move]
    lines = textwrap.wrap(" ".join((*words, game.result)), LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join((*(f'[{name} "{value}"]' for name, value in headers.items()), *lines, "", ""))


# -- from text to drafts -----------------------------------------------------------------------------------------------


class _Token(NamedTuple):
    """A part of a text that is not skipped."""

    kind: str  # a name of a group in _TOKEN
    text: str
    line: int


@dataclass
class _Draft:
    """The text of one game in parts, before it is replayed."""

    line: int
    headers: dict[str, str] = field(default_factory=dict[str, str])
    moves: list[_Token] = field(default_factory=list[_Token])
    result: str = ""  # after the moves, or ""
    errors: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])  # line and reason
    names: set[str] = field(default_factory=set[str])  # of all headers, in small letters
    has_body: bool = False  # whether there is anything but headers
    variations: list[int] = field(default_factory=list[int])  # the lines on which those begin that are open


def _tokens(text: str) -> Iterator[_Token]:
    """Yields what is not skipped in a text: no comments, move numbers or marks."""
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup:
            yield _Token(match.lastgroup, match[match.lastgroup], line)
        line += match[0].count("\n")


def _drafts(tokens: Iterable[_Token]) -> Iterator[_Draft]:
    """Yields the games of a text. A result ends one, and so does a header after moves, or with the name of another."""
    draft: _Draft | None = None
    for token in tokens:
        name = token.text.strip("[").split('"')[0].strip().lower() if token.kind in ("header", "no_header") else ""
        if draft is not None and name and (draft.has_body or name in draft.names):
            yield draft
            draft = None
        draft = draft or _Draft(token.line)
        draft.has_body |= not name
        if name:
            draft.names.add(name)
            if header := _HEADER.match(token.text if token.kind == "header" else ""):
                draft.headers[_NAMES.get(header[1].lower(), header[1])] = header[2]
        elif draft.variations and token.kind not in ("open", "close", "number_or_close", "unclosed"):
            continue
        match token.kind:
            case "no_header":
                error = f'expected a header such as [Event "match"], not {_shown(token.text.strip())!r}'
                draft.errors.append((token.line, error))
            case "unclosed":
                draft.errors.append((token.line, "there is no } after this {"))
            case "open":
                draft.variations.append(token.line)
            case "close" | "number_or_close" if draft.variations:
                draft.variations.pop()
            case "close":
                draft.errors.append((token.line, "there is no ( before this )"))
            case "move":
                draft.moves.append(token)
            case "word":
                error = f"expected a move such as 11-15 or 15x22, not {_shown(token.text)!r}"
                draft.errors.append((token.line, error))
            case "result":
                draft.result = token.text
                yield draft
                draft = None
            case _:  # a header, or the number of a move
                pass
    if draft is not None:
        yield draft


def _shown(text: str) -> str:
    """Returns a text of a file for a message, cut after `MAX_SHOWN` characters."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


# -- from drafts to games ----------------------------------------------------------------------------------------------


def _replayed(draft: _Draft) -> PdnGame | BrokenGame:
    """Returns the game of a draft, or the first reason for which it is none."""
    headers = {name: value for name, value in draft.headers.items() if name not in ("Result", "SetUp", "FEN")}
    if draft.variations:
        draft.errors.append((draft.variations[0], "there is no ) after this ("))
    if draft.errors:
        return BrokenGame(*min(draft.errors), headers)
    paths: list[Path] = []
    actions: list[int] = []
    line = draft.line
    try:
        result = _result(draft)
        kind = headers.get("GameType", GAME_TYPE)
        if kind.split(",")[0].strip() != GAME_TYPE:
            raise ValueError(f"GameType is {kind!r}; only {GAME_TYPE}, American checkers, can be read")
        state, start = _position(_fen(draft.headers))
        board = Board.of(state)
        for token in draft.moves:
            line = token.line
            goes_on = bool(board.jumper and paths)
            path = _path(board, token.text)
            actions += board.play(path)
            paths[-1:] = [paths[-1] + path[1:]] if goes_on else [*paths[-1:], path]
    except ValueError as error:
        return BrokenGame(line, str(error), headers)
    return PdnGame(tuple(actions), tuple(map(text_of, paths)), start, result, headers, draft.line)


def _path(board: Board, text: str) -> Path:
    """Returns the legal move, or the first jumps of one, that a text names; the text may leave squares out."""
    squares = tuple(map(int, re.findall(r"\d+", text)))
    legal = board.legal_paths()
    if squares in legal:
        return squares
    fitting = [path for path in legal if path[0] == squares[0] and path[-1] == squares[-1] and visits(path, squares)]
    if len(fitting) > 1:
        raise ValueError(f"{_shown(text)} can be {texts_of(fitting)}: it must have the squares between")
    if fitting:
        return fitting[0]
    if any(path[: len(squares)] == squares for path in legal):
        return squares
    raise ValueError(f"{_shown(text)} is not legal: {COLOURS[board.seat]} can play {texts_of(legal)}")


def _result(draft: _Draft) -> str:
    """Returns the result by the header or after the moves. Raises ValueError if they are two known ones that differ."""
    by_header, after_moves = (
        _RESULTS.get(_plain(text), UNKNOWN_RESULT) for text in (draft.headers.get("Result", ""), draft.result)
    )
    known = {by_header, after_moves} - {UNKNOWN_RESULT}
    if len(known) > 1:
        raise ValueError(f"the result is {by_header} in the header and {after_moves} after the moves")
    return known.pop() if known else UNKNOWN_RESULT


def _fen(headers: Mapping[str, str]) -> str:
    """Returns the position before the first move as the env reads it: no ranges, blanks and full stops."""
    if "FEN" not in headers:
        if headers.get("SetUp") == "1":
            raise ValueError("SetUp is 1, so there must be a header FEN with the position")
        return START
    text = _plain(headers["FEN"]).replace(".", "")
    return re.sub(r"(?<!\d)(K?)(\d{1,2})-\1?(\d{1,2})(?!\d)", _numbers_of_range, text)


def _numbers_of_range(match: re.Match[str]) -> str:
    """Returns `21,22,23` for `21-23` and for `23-21`."""
    first, last = sorted((int(match[2]), int(match[3])))
    return ",".join(f"{match[1]}{number}" for number in range(first, last + 1))


def _plain(text: str) -> str:
    """Returns a result or a position without blanks, with hyphens for all dashes and 1/2 for ½."""
    return re.sub(_DASH, "-", re.sub(r"\s", "", text)).replace("½", "1/2")


@functools.lru_cache
def _position(text: str) -> tuple[CheckersState, str]:
    """Returns the position that a text names, and its text as the env writes it. Raises ValueError for another text."""
    state = (env := Checkers()).from_string(text)
    return jax.device_get(state), env.to_string(state)
