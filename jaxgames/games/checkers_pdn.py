"""Games of checkers as text: a reader and a writer of PDN, Portable Draughts Notation.

    [Event "Manchester 1841"]
    [Result "0-1"]
    1. 11-15 24-20 2. 8-11 28-24 {a comment} 3. 9-13 $6 (9-14 22-18) 22-18 4. 15x22 25x18 0-1

    for game in checkers_pdn.read(checkers_pdn.decode(path.read_bytes())):
        if isinstance(game, checkers_pdn.BrokenGame):
            print(f"line {game.line}: {game.reason}")
    print(checkers_pdn.write(checkers_pdn.record(actions, headers={"Event": "match 1"})))

A file has games one after the other. A line that begins with `[Name "` is a header, and ends the game before it. So
does a second header of the same name, or a result. Comments, variations, move numbers and marks are skipped. Every game
is replayed by the rules. For one that cannot be read there is a `BrokenGame`, and the reader continues with the next.

Source: the PDN 3.0 standard, and files as people write them. docs/games/checkers.md lists what is accepted, and why
this is not left to another library.
"""

import dataclasses
import functools
import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers_whole_moves import Board, Path, text_of, texts_of, visits

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
    "½-½": DRAW,
    "0-0": UNKNOWN_RESULT,  # both lost, or not played
}
_HEADER_LINE = re.compile(r'\s*\[\s*([A-Za-z_]\w*)\s+"')
_HEADER = re.compile(r'\[\s*(\w+)\s+"(.*?)"\s*\]')
_TOKEN = re.compile(
    r"""\s+ | \{[^}]*\} | ;[^\n]* | ^%[^\n]*  # comments
    | (?P<unclosed> \{[^}]*\Z )
    | (?P<result> (?: 1/2-1/2 | 1/2 | ½-½ | 1-0 | 0-1 | 2-0 | 0-2 | 1-1 | 0-0 | \* ) (?!\d) )
    | (?P<move> \d{1,2} (?: \s* [-\u2013xX\u00d7:] \s* \d{1,2} )+ (?!\d) ) [!?*]*  # \u2013 dash, \u00d7 cross
    | \d+\s*\.+ | \.+ | \$\d+ | [!?]+  # move numbers and marks
    | (?P<open> \( ) | (?P<close> \) )
    | (?P<word> \S+?(?=[\s(){;]|\Z) | . )  # no PDN""",
    re.VERBOSE | re.MULTILINE,
)


@dataclass(frozen=True)
class Game:
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
    """Returns the text of a file: UTF-8, with or without a byte order mark, otherwise Latin-1."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def read(text: str) -> Iterator[Game | BrokenGame]:
    """Yields the games of a text in their order, and a `BrokenGame` for each that cannot be read."""
    for section in _sections(text):
        for draft in _drafts(section):
            yield _replayed(draft)


def record(
    actions: Iterable[int],
    *,
    start: str = START,
    result: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Game:
    """Returns the game that some actions of the env make.

    Args:
      actions: legal actions from `start`. They can end in the middle of a capture.
      start: a position, as the env's `to_string` writes it.
      result: BLACK_WINS, WHITE_WINS, DRAW or UNKNOWN_RESULT. None: by the last position. A mover who cannot move has
        lost; otherwise the result is UNKNOWN_RESULT.
      headers: names and values for the head of the game, without Result, SetUp and FEN.

    Raises ValueError for an illegal action, a text that is not a position, or another result.
    """
    if result is not None and result not in (*REWARDS, UNKNOWN_RESULT):
        raise ValueError(f"result must be one of {', '.join((*REWARDS, UNKNOWN_RESULT))}, not {result!r}")
    board, start = _position(start)
    moves: list[str] = []
    played: list[int] = []
    remaining = iter(actions)
    for first in remaining:
        path = board.path_of(itertools.chain((int(first),), map(int, remaining)))
        played += board.play(path)
        moves.append(text_of(path))
    if result is None:
        result = UNKNOWN_RESULT if board.legal_paths() else (WHITE_WINS, BLACK_WINS)[board.seat]
    return Game(tuple(played), tuple(moves), start, result, dict(headers or {}))


def write(game: Game) -> str:
    """Returns a game as PDN, with an empty line at its end; `read` returns an equal game.

    Raises ValueError for a header that PDN cannot hold.
    """
    headers = dict(game.headers) | {"Result": game.result}
    if game.start != START:
        headers |= {"SetUp": "1", "FEN": game.start}
    for name, value in headers.items():
        line = f'[{name} "{value}"]'
        if _HEADER.findall(line) != [(name, value)] or not _HEADER_LINE.match(line) or "\r" in value:
            raise ValueError(f'a header must be a word and one line without "], not {name!r} and {value!r}')
    first = "BW".index(game.start[0])
    words = ["1..."] if first and game.moves else []
    for turn, move in enumerate(game.moves, start=first):
        words += [move] if turn % 2 else [f"{turn // 2 + 1}.", move]
    lines = textwrap.wrap(" ".join((*words, game.result)), LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join((*(f'[{name} "{value}"]' for name, value in headers.items()), *lines, "", ""))


# -- from text to drafts -----------------------------------------------------------------------------------------------


class _Section(NamedTuple):
    """One block of headers, and the text up to the next block."""

    line: int  # of the first header, or of the text if there is none
    headers: dict[str, str]
    wrong_headers: list[tuple[int, str]]  # line and reason
    body: str
    body_line: int  # of its first character


class _Token(NamedTuple):
    """A part of a body that is not skipped."""

    kind: str  # "result", "move", "open" or "close" of a variation, "unclosed" comment, "word" that is not PDN
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


def _sections(text: str) -> Iterator[_Section]:
    """Yields the parts of a text. Only the first one can be without headers."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    blocks: list[tuple[int, int]] = []  # the first line of headers, and the line after their last, both from 0
    names: set[str] = set()  # of the last block
    for number, line in enumerate(lines):
        if match := _HEADER_LINE.match(line):
            if blocks and match[1] not in names and not any(map(str.strip, lines[blocks[-1][1] : number])):
                blocks[-1] = (blocks[-1][0], number + 1)
            else:
                blocks.append((number, number + 1))
                names.clear()
            names.add(match[1])
    for (first, end), (following, _) in itertools.pairwise([(0, 0), *blocks, (len(lines), 0)]):
        headers: dict[str, str] = {}
        wrong: list[tuple[int, str]] = []
        for number in range(first, end):
            headers |= dict(_HEADER.findall(lines[number]))
            if rest := _HEADER.sub("", lines[number]).strip():
                wrong.append((number + 1, f'expected a header such as [Event "match"], not {_shown(rest)!r}'))
        yield _Section(first + 1, headers, wrong, "\n".join(lines[end:following]), end + 1)


def _tokens(section: _Section) -> Iterator[_Token]:
    """Yields what is not skipped in a body: no comments, move numbers or marks."""
    line = section.body_line
    for match in _TOKEN.finditer(section.body):
        if match.lastgroup:
            yield _Token(match.lastgroup, match[match.lastgroup], line)
        line += match[0].count("\n")


def _drafts(section: _Section) -> Iterator[_Draft]:
    """Yields the games of a section: the headers are of the first one, and each result ends one."""
    draft = _Draft(section.line, section.headers, errors=section.wrong_headers)
    variations: list[int] = []  # the lines on which those begin that are open
    is_new = not (section.headers or section.wrong_headers)
    for token in _tokens(section):
        if is_new:
            draft, is_new = _Draft(token.line), False
        if token.kind == "unclosed":
            draft.errors.append((token.line, "there is no } after this {"))
        elif token.kind == "open":
            variations.append(token.line)
        elif token.kind == "close":
            if not variations:
                draft.errors.append((token.line, "there is no ( before this )"))
            del variations[-1:]
        elif variations:
            continue
        elif token.kind == "move":
            draft.moves.append(token)
        elif token.kind == "word":
            draft.errors.append((token.line, f"expected a move such as 11-15 or 15x22, not {_shown(token.text)!r}"))
        else:
            draft.result, is_new = token.text, True
            yield draft
    if variations:
        draft.errors.append((variations[0], "there is no ) after this ("))
    if not is_new:
        yield draft


def _shown(text: str) -> str:
    """Returns a text of a file for a message, cut after `MAX_SHOWN` characters."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


# -- from drafts to games ----------------------------------------------------------------------------------------------


def _replayed(draft: _Draft) -> Game | BrokenGame:
    """Returns the game of a draft, or the first reason for which it is none."""
    headers = {name: value for name, value in draft.headers.items() if name not in ("Result", "SetUp", "FEN")}
    if draft.errors:
        return BrokenGame(*min(draft.errors), headers)
    paths: list[Path] = []
    actions: list[int] = []
    line = draft.line
    try:
        result = _result(draft)
        _check_game_type(headers)
        board, start = _position(_fen(draft.headers))
        for token in draft.moves:
            line = token.line
            goes_on = bool(board.jumper and paths)
            path = _path(board, token.text)
            actions += board.play(path)
            paths[-1:] = [paths[-1] + path[1:]] if goes_on else [*paths[-1:], path]
    except ValueError as error:
        return BrokenGame(line, str(error), headers)
    return Game(tuple(actions), tuple(map(text_of, paths)), start, result, headers, draft.line)


def _path(board: Board, text: str) -> Path:
    """Returns the legal move, or the first jumps of one, that a text names; the text may leave squares out.

    Raises ValueError if there is none, or more than one.
    """
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
        _RESULTS.get(text, UNKNOWN_RESULT) for text in (draft.headers.get("Result", ""), draft.result)
    )
    known = {by_header, after_moves} - {UNKNOWN_RESULT}
    if len(known) > 1:
        raise ValueError(f"the result is {by_header} in the header and {after_moves} after the moves")
    return known.pop() if known else UNKNOWN_RESULT


def _check_game_type(headers: Mapping[str, str]) -> None:
    """Raises ValueError if a game is not one of American checkers."""
    kind = headers.get("GameType", GAME_TYPE)
    if kind.split(",")[0].strip() != GAME_TYPE:
        raise ValueError(f"GameType is {kind!r}; only {GAME_TYPE}, American checkers, can be read")


def _fen(headers: Mapping[str, str]) -> str:
    """Returns the position before the first move as the env reads it: no ranges, blanks and full stops."""
    if "FEN" not in headers:
        if headers.get("SetUp") == "1":
            raise ValueError("SetUp is 1, so there must be a header FEN with the position")
        return START
    text = re.sub(r"[\s.]", "", headers["FEN"])
    return re.sub(r"(K?)(\d{1,2})-K?(\d{1,2})", _numbers_of_range, text)


def _numbers_of_range(match: re.Match[str]) -> str:
    """Returns `21,22,23` for `21-23`."""
    return ",".join(f"{match[1]}{number}" for number in range(int(match[2]), int(match[3]) + 1))


def _position(text: str) -> tuple[Board, str]:
    """Returns the position that a text names, and its text as the env writes it. Raises ValueError for another text."""
    board, text = _parsed(text)
    return dataclasses.replace(board), text


@functools.lru_cache
def _parsed(text: str) -> tuple[Board, str]:
    """Returns what `_position` returns; the board is shared, so it must not be played on."""
    state = (env := Checkers()).from_string(text)
    return Board.of(state), env.to_string(state)
