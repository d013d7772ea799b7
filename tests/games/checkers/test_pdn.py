"""The reader and the writer of PDN: games of another engine, ways of writing, broken games, round trips."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import draughts
import numpy as np
import pytest
from draughts.PDN import PDNWriter
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames.games.checkers.pdn import START, BrokenGame, PdnGame, decode, read, record, write
from jaxgames.games.checkers.whole_moves import Board
from tests.games.checkers.reference import crowds, hunts

WCDF = jaxgames.make("checkers")
OPENING = "11-15 24-20 8-11 28-24 9-13 22-18 15x22 25x18"  # begins a game of 1841
HEADERS = {"Event": "game 7", "Black": 'the "quick" one', "Note": "{11-15} [x] 1-0; (é)"}
CIRCLE = "B:W9,10,17,18,32:BK6"  # the king on 6 captures on the way around, in two directions
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")


# -- another engine ----------------------------------------------------------------------------------------------------

FILE = Path(__file__).parents[2] / "data" / "pdn" / "pydraughts.pdn"
CAPTURES = "W:W9,27,30,31,K32:BK6,K10,15,17,18,23,K25"  # kings and men in reach of each other


def random_game(seed: int, plies: int = 80) -> str:
    """The PDN of a random game of pydraughts, every third from a position full of captures.

    pydraughts leaves out the squares between in a capture, unless two captures would look the same. The header `Final`
    is the position after the last move.
    """
    rng = Random(seed)
    board = draughts.Board(variant="american", fen=CAPTURES if seed % 3 == 2 else "startpos")
    while not board.is_over() and len(board.move_stack) < plies:
        board.push(rng.choice(list(board.legal_moves())))
    headers: dict[str, str | int] = {"Event": f"random game {seed}", "Final": board.fen}
    return PDNWriter("", board=board, tags=headers, game_ending=RESULTS[seed % len(RESULTS)]).pdn_text


def test_recorded_games_of_pydraughts_end_on_its_positions() -> None:
    """`python -m tests.games.checkers.test_pdn` writes the file."""
    captures = 0
    for number, game in enumerate(read(decode(FILE.read_bytes()))):
        assert isinstance(game, PdnGame), game
        assert game.result == RESULTS[number % len(RESULTS)]
        board = Board.of(WCDF.from_string(game.start))
        for move in game.moves:
            board.play(tuple(map(int, move.replace("x", "-").split("-"))))
        assert board == Board.of(WCDF.from_string(game.headers["Final"]))
        captures += sum(move.count("x") >= 2 for move in game.moves)
    assert captures >= 15


# -- ways of writing ---------------------------------------------------------------------------------------------------

# Of a game its moves, behind its start if that is another, and its result; of a broken one the line of the problem and
# parts of the reason.
Expected = tuple[str, str] | tuple[int, *tuple[str, ...]]

TWO: list[Expected] = [("11-15", "1-0"), ("11-16", "*")]
OTHER_START = "W:W18,K30:B2,K7 30-25 7-10"
FROM_CIRCLE, AROUND = f'[FEN "{CIRCLE}"]\n1. ', f"{CIRCLE} 6x15x22x13x6"
FROM_WHITE, CAPTURED = '[FEN "W:W26,32:B6,14,22,25"]\n1... ', "W:W26,32:B6,14,22,25 26x17x10x1"

READ: list[tuple[str, list[Expected]]] = [
    # Moves with numbers of both sides, zeros, crosses and dashes of Unicode, variations in variations.
    (
        "1. 11-15 1... 24-20 2. 08-11 2... 28-24 3. 09-13 ... 22-18 4. 15:22 4. ... 25X18 1-0",
        [(OPENING, "1-0")],
    ),
    ("11\u201315 24\u201420 8-11 28-24 9-13 22-18 15\u00d722 25\u00d718 ½-½", [(OPENING, "1/2-1/2")]),
    ("1. 11-15 (1. 9-14 22-17 {1-0 )} (11-16 1-0) 2. zz) 24-20 (! 3) *", [("11-15 24-20", "*")]),
    # Comments, marks and blanks; a comment may hold results, headers and the beginnings of others.
    (
        '{;%( [x]\n[Event "old"]\n1-0 }1. 11-15 !? ; 0 - 1 {\n%} ½ {\n24-20?! $5 8-\n11{*}28 \t-24 ... 9-13{)}22- 18 *',
        [("11-15 24-20 8-11 28-24 9-13 22-18", "*")],
    ),
    ('{[Event "a"]\n1. 11-15 *}\n[event "b"]\n[EVENT "c"] 1 11-15 1-0 11-16 *', [("", "*"), *TWO]),
    # Games are separated by a result, by a header after moves, and by the name of a header that comes again.
    ('[Event "1"] [Result "1-0"]\n1. 11-15\n  [Event "2"]\n1. 11-16', TWO),
    ('[Event "1"]\n\n[Result "1-0"]\n\n1. 11-15 *\n[Event "2"]\n\n\n1. 11-16 *', TWO),
    ('[Event "1"]\n[Result "1-0"]\n\n[Event "2"]\n[Result "0-1"]', [("", "1-0"), ("", "0-1")]),
    ("\n \n{only a comment}\n", []),
    # Positions and types of games.
    ('[fen "W:BK7,2:W18,K30"]\n1... 30-25 2. 7-10', [(OTHER_START, "*")]),
    ('[SetUp "1"][FEN "W : W 18, K30 : B2, K7 ."]\n1... 30-25 2. 7-10', [(OTHER_START, "*")]),
    ('[FEN "W:WK30-K30,18-18:B2,K7-7"]\n1... 30-25 2. 7-10', [(OTHER_START, "*")]),
    ('[FEN "B:W32\u201321:B1-12"] 1) 9-13 22-18 2) 13-17', [("9-13 22-18 13-17", "*")]),
    ('[GameType " 21 ,B,8,8,N1,0"]\n1. 11-15', [("11-15", "*")]),
    # Squares between in a capture may be left out if one capture is meant. A game may end in the middle of a capture.
    *((FROM_WHITE + capture, [(CAPTURED, "*")]) for capture in ["26x1", "26x17x1", "26-1", "26x17x10 10x1"]),
    (f"{FROM_CIRCLE}6x6", [(2, "6x6", "6x13x22x15x6", "6x15x22x13x6")]),
    (f"{FROM_CIRCLE}6x15x22x6", [(AROUND, "*")]),
    (f"{FROM_CIRCLE}6x15x22 *", [(f"{CIRCLE} 6x15x22", "*")]),
    (f"{FROM_CIRCLE}6x15x22 32-28 *", [(2, "32-28", "22x13x6")]),
    # Results in the header and behind the moves: the known one of both.
    *(
        (f'[Result "{header}"]\n1. 11-15 {after}', [("11-15", result)])
        for header, after, result in [
            ("", "0\u2013 1", "0-1"),
            ("", "2\u20120", "1-0"),
            ("", "1 \u2212 1", "1/2-1/2"),
            ("", "1/2 \u2010 1/2", "1/2-1/2"),
            ("", "½", "1/2-1/2"),
            ("", "0 - 0", "*"),
            ("0-1", "*", "0-1"),
            ("1-1", "1/2-1/2", "1/2-1/2"),
            ("Black won", "", "*"),
        ]
    ),
    ('[Result "1-0"]\n1. 11-15 0-1', [(1, "1-0", "0-1")]),
    # Broken games.
    ("1. 11-15 24-20\n2. 15-24 *", [(2, "15-24", "7-11, 8-11")]),
    ("1. 11-15 22-18\n\n2. 15-19 *", [(3, "15-19", "15x22")]),  # a capture is compulsory
    ("11 15 22 18 *", [(1, "11-15", "'11'")]),
    ("1. 11-155 *", [(1, "11-15", "'11-155'")]),
    ("1. 11-15 24-20\nWhite resigns\n1-0", [(2, "11-15", "'White'")]),
    ("11-15 8-8\n9-14 1-0\n11-16 *", [(1, "8-8"), ("11-16", "*")]),
    ("1. 11-15\n{never closed 24-20\n2. 8-11 1-0", [(2, "}", "{")]),
    ('[Event "a"]\n1. 11-15 {two\n\n[Site "b"]\n1. 11-16 {notes} *', [(2, "}", "{"), ("11-16", "*")]),
    ('[Event "a"]\n1. 11-15 22-18 (2. 9-14\n\n[Site "b"]\n1. 11-16 *', [(2, ")", "("), ("11-16", "*")]),
    ("1. 11-15\n24-20) 2. 8-11 1-0", [(2, "(", ")")]),
    ('[White "A" 1. 11-15 *', [(1, "[Event", "'[White")]),
    ('[SetUp "1"]\n1. 11-15 *', [(1, "SetUp", "FEN")]),
    ('[FEN "B:W21:B30-K32"] *', [(1, "1 to 32", "'30-K32'")]),
    ('[GameType "20"]\n1. 32-28 *', [(1, "GameType", "'20'", "21")]),
    ('[FEN "B:WK1:B"]\n1. 11-15 *', [(2, "11-15", "no move")]),
]


@pytest.mark.parametrize(("text", "games"), READ)
def test_text_has_these_games(text: str, games: list[Expected]) -> None:
    for game, expected in zip(read(text), games, strict=True):
        if isinstance(game, PdnGame):
            assert (game.text, game.result) == expected
            assert record(game.actions, start=game.start).moves == game.moves
        else:
            line, *parts = expected
            assert game.line == line, game
            assert all(str(part) in game.reason for part in parts), game


@pytest.mark.parametrize("move", ["c3-d4", "11-33"])
def test_broken_game_has_its_headers_and_the_others_are_kept(move: str) -> None:
    text = f'[Event "first"]\n11-15 1-0\n\n[Event "broken"]\n{move}\n\n[Event "the "last" [1]"]\n11-16 0-1\n'
    first, wrong, last = read(text)
    assert isinstance(first, PdnGame)
    assert isinstance(wrong, BrokenGame)
    assert isinstance(last, PdnGame)
    assert [game.line for game in (first, wrong, last)] == [1, 5, 7]
    assert [game.headers["Event"] for game in (first, wrong, last)] == ["first", "broken", 'the "last" [1]']


@pytest.mark.parametrize("text", ["\0" * 10_000, "1" * 10_000, "11x18x" * 2_000 + "25"])
def test_reason_shows_the_beginning_of_a_long_text(text: str) -> None:
    (wrong,) = read(text)
    assert isinstance(wrong, BrokenGame)
    assert len(wrong.reason) < 400
    assert "..." in wrong.reason


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_files_of_several_systems_are_read_one_behind_the_other(coding: str, line_end: str) -> None:
    text = '[SITE "Müller"][black ""]\n1. 11\u201315 ; {\n24-20 *'
    ends = ["", "\x1a", "\n\x1a\0\0", "\n\0"]
    content = b"".join((text + end).replace("\n", line_end).encode(coding) for end in ends)
    games = list(read(decode(content)))
    assert [(game.headers, game.text) for game in games if isinstance(game, PdnGame)] == [
        ({"Site": "Müller", "Black": ""}, "11-15 24-20")
    ] * len(ends)


# -- the writer --------------------------------------------------------------------------------------------------------


STARTS = st.one_of(
    st.just(START),
    st.just("B:W9,10,17,32:BK15:J15"),  # in the middle of a capture
    st.builds(
        lambda kind, seed: kind(np.random.default_rng(seed), 1)[0], st.sampled_from([crowds, hunts]), st.integers(0)
    ),
)


@settings(max_examples=60, deadline=None, database=None)
@given(STARTS, st.lists(st.integers(0, 30), max_size=40), st.integers(0, 9), st.sampled_from([*RESULTS, None]))
def test_written_game_is_read_as_it_was(start: str, choices: list[int], cut: int, result: str | None) -> None:
    """Random moves; the last actions are cut off, possibly in a capture."""
    start = WCDF.to_string(WCDF.from_string(start))
    board, actions = Board.of(WCDF.from_string(start)), list[int]()
    for choice in choices:
        if paths := board.legal_paths():
            actions += board.play(paths[choice % len(paths)])
    game = record(actions[: max(0, len(actions) - cut)], start=start, result=result, headers=HEADERS)
    text = write(game)
    assert list(read(text + text)) == [game, game]
    assert text.endswith("\n\n")
    assert all(line.startswith("[") or len(line) <= 79 for line in text.splitlines())


def test_written_header_is_read_as_it_was_or_refused() -> None:
    written = list[dict[str, str]]()

    @settings(max_examples=60, deadline=None, database=None)
    @given(
        headers=st.dictionaries(
            st.text("aZ1_é ", max_size=3) | st.sampled_from(["Event", "event", "fen"]),
            st.text() | st.text('a"[]\n\r\u2028 {', max_size=6),
        )
    )
    @example(headers={"Event": 'a "match" [1]'})
    def check(headers: dict[str, str]) -> None:
        game = record([], headers=headers)
        try:
            text = write(game)
        except ValueError:
            return
        assert list(read(text)) == [game]
        written.append(headers)

    check()
    assert {"Event": 'a "match" [1]'} in written


def test_written_game_is_what_people_write() -> None:
    (opening,), (from_white,) = read(OPENING), read(FROM_WHITE + "26x1 25-29 32-27 *")
    assert isinstance(opening, PdnGame)
    assert isinstance(from_white, PdnGame)
    assert write(record(opening.actions, headers={"Event": "a match"})) == (
        '[Event "a match"]\n[Result "*"]\n1. 11-15 24-20 2. 8-11 28-24 3. 9-13 22-18 4. 15x22 25x18 *\n\n'
    )
    head = '[Result "*"]\n[SetUp "1"]\n[FEN "W:W26,32:B6,14,22,25"]\n'
    assert write(from_white) == head + "1... 26x17x10x1 2. 25-29 32-27 *\n\n"


def test_result_is_that_of_the_last_position_unless_it_is_given() -> None:
    actions = Board.of(WCDF.from_string("B:W18:B14,1")).play((14, 23))
    assert record(actions, start="B:W18:B14,1").result == "1-0"
    assert record([], start="B:W18:B").result == "0-1"
    assert record([]).result == "*"
    assert record(actions, start="B:W18:B14,1", result="1/2-1/2").result == "1/2-1/2"


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: record([3]), ("action 3", "9-13")),
        (lambda: record([], result="won"), ("result", "'won'", "1/2-1/2")),
        (lambda: write(record([], headers={"Event": "\r"})), ("header", repr("\r"))),
    ],
)
def test_what_is_no_game_is_refused(call: Callable[[], Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"must be|can be played") as error:
        call()
    assert all(part in str(error.value) for part in parts)


if __name__ == "__main__":
    FILE.write_text("".join(map(random_game, range(12))))
