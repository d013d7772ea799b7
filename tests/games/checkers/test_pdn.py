"""The reader and the writer of PDN: games of another engine, ways of writing, broken games, round trips."""

import re
import textwrap
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames.games.checkers.pdn import START, BrokenGame, PdnGame, decode, read, record, write
from jaxgames.games.checkers.whole_moves import Board
from tests.games.checkers.random_positions import crowds, hunts
from tests.games.checkers.record_pydraughts import FILE, RESULTS

WCDF = jaxgames.make("checkers")
OPENING = ("11-15", "24-20", "8-11", "28-24", "9-13", "22-18", "15x22", "25x18")  # begins a game of 1841
HEADERS = {"Event": "game 7", "Black": 'the "quick" one', "Note": "{11-15} [x] 1-0; (é)"}
CIRCLE = "B:W9,10,17,18,32:BK6"  # the king on 6 captures on the way around, in two directions


def game_of(text: str) -> PdnGame:
    """The only game of a text, which must not be broken."""
    (game,) = read(textwrap.dedent(text))
    assert isinstance(game, PdnGame), game
    return game


def broken(text: str) -> BrokenGame:
    """The only game of a text, which must be broken."""
    (game,) = read(textwrap.dedent(text))
    assert isinstance(game, BrokenGame), game
    return game


# -- another engine ----------------------------------------------------------------------------------------------------


def test_recorded_games_of_pydraughts_end_on_its_positions() -> None:
    """pydraughts leaves out the squares between in a capture."""
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


@pytest.mark.parametrize(
    "movetext",
    [
        "1. 11-15 24-20 2. 8-11 28-24 3. 9-13 22-18 4. 15x22 25x18 1-0",
        "1. 11-15 1... 24-20 2. 8-11 2... 28-24 3. 9-13 ... 22-18 4. 15x22 4. ... 25x18 1-0",
        "1. 11-15 24-20 2. 08-11 28-24 3. 09-13 22-18 4. 15:22 25X18 1-0",
        "1. 11-15 24-20 2. 8-11 28-24 3. 9-13 22-18 4. 15-22 25-18 1-0",
        "1. 11-15 24-20 2. 8-11 28-24 3. 9-13 22-18 4. 15x22 25x18".replace("-", "\u2013").replace("x", "\u00d7")
        + " ½-½",
        "1. 11-15 (1. 9-14 22-17 {1-0 )} (11-16 1-0) 2. zz) 24-20 2. 8-11 28-24 (!) 3. 9-13 22-18 4. 15x22 25x18 1-0",
    ],
)
def test_moves_are_read_in_every_way_of_writing(movetext: str) -> None:
    game = game_of(f'[Event "a match"]\n\n{movetext}\n')
    assert game == PdnGame(game.actions, OPENING, START, "1/2-1/2" if "½" in movetext else "1-0", {"Event": "a match"})
    assert [len(game.actions), game.line] == [8, 1]


@pytest.mark.parametrize(
    "text",
    [
        '[Event "1"]\n1. 11-15 1-0\n[Event "2"]\n1. 11-16 *\n',  # no empty line
        '[Event "1"]\n\n1. 11-15 1-0\n\n\n[Event "2"]\n\n1. 11-16\n',  # no result
        '[Event "1"] [Result "1-0"]\n1. 11-15\n  [Event "2"]\n1. 11-16\n',  # two headers on a line, a blank before one
        '[Event "1"]\n[Result "1-0"]\n1. 11-15\n[Event "2"]\n1. 11-16',
        '[Event "1"]\n\n[Result "1-0"]\n\n1. 11-15 *\n[Event "2"]\n1. 11-16 *\n',  # an empty line between headers
    ],
)
def test_headers_and_results_separate_games(text: str) -> None:
    games = list(read(text))
    assert [(game.headers["Event"], game.moves, game.result) for game in games if isinstance(game, PdnGame)] == [
        ("1", ("11-15",), "1-0"),
        ("2", ("11-16",), "*"),
    ]


COMMENTED = ["11-15", "1-0", "0 - 1", "*", "½", "(9-14", ")", ";", "%", "[x]", "$3", "Müller", "\u2013"]


def decorated(game: PdnGame, random: Random, sign: str) -> str:
    """Returns a game with comments, marks, blanks, line ends and dashes at random."""

    def gap(*, with_variations: bool = True) -> str:
        words = " ".join(random.choices(COMMENTED, k=random.randrange(6)))
        comments = [f"{{{words}}}", f'{{{words}\n[Event "old"]\n{words}}}', f";{words}{{\n", f"\n%{words}}}{{\n"]
        blanks = [" ", "\n", "\t", "\n\n", "\u00a0"]
        marks = (
            [f"(11-15 {{{words}}} (no {random.choice(['*', '1-0'])}) 9-14 3)", "$5 ", "!?"] if with_variations else []
        )
        return random.choice(blanks) + "".join(random.choices([*blanks, *comments, *marks], k=random.randrange(4)))

    def spread(text: str) -> str:
        blanks = random.choice(["", "", " ", "  ", "\n"])
        return re.sub(
            "[-x]", lambda match: blanks + (sign if match[0] == "-" else random.choice("xX:-")) + blanks, text
        )

    def cased(name: str) -> str:
        return random.choice([str, str.upper, str.lower, str.swapcase])(name)

    headers = dict(game.headers) | {
        "FEN": f"B:W32{sign}21:B1{sign}12",
        "Result": spread(game.result).replace("\n", " "),
    }
    text = gap(with_variations=False)
    for name, value in random.sample([*headers.items()], len(headers)):
        text += f'[{cased(name)} "{value}"]' + random.choice(["", gap(with_variations=False)])
    number = random.choice(["{}. ", "{}.", "{}... ", "{}) ", "{} ", ""])
    for turn, move in enumerate(game.moves):
        text += random.choice(["", gap()]) + (number.format(turn // 2 + 1) if turn % 2 == 0 or "..." in number else "")
        text += spread(move) + gap()
    return text + spread(game.result) + gap(with_variations=False) + "\n"


@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_games_are_read_whatever_stands_between_their_parts(seed: int) -> None:
    """Two files in any encoding, one behind the other, with the ends of files of several systems."""
    random = Random(seed)
    games: list[PdnGame] = []
    content = b""
    coding, sign = random.choice(
        [("utf-8", "\u2212"), ("utf-8-sig", "\u2014"), ("utf-16", "\u2011"), ("cp1252", "\u2013"), ("cp1252", "-")]
    )
    for name in ("first", "second"):
        board, actions = Board.of(WCDF.from_string(START)), list[int]()
        for _ in range(random.randrange(12)):
            actions += board.play(random.choice(board.legal_paths()))
        result = random.choice(["1-0", "0-1", "1/2-1/2", "*"])
        games.append(
            record(actions, result=result, headers={"Event": name, "Black": "Müller", "Site": "{;%( \u2013 ½"})
        )
        text = decorated(games[-1], random, sign).replace("\n", random.choice(["\n", "\r\n", "\r"]))
        content += (text + random.choice(["", "\x1a", "\x1a\0\0", "\n\0"])).encode(coding)
    assert list(read(decode(content))) == games


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ('[Event "a"] 1. 11-15 * [Event "b"] 1. 11-16 *', [("11-15",), ("11-16",)]),
        (
            '[Event "a"][FEN "B:W21-32:B12-1"]* [FEN "B:W32-21:B1-12"] 1) 9-13 22-18 2) 13-17',
            [(), ("9-13", "22-18", "13-17")],
        ),
        (
            '{[Event "a"]\n1. 11-15 *}\n[event "b"]\n[EVENT "c"] 1 11-15 22-18 2 15x22 *',
            [(), ("11-15", "22-18", "15x22")],
        ),
        ('[Event "a"]\n1. 11-15 {two\n\n[Site "b"]\n1. 11-16 {notes} *', [None, ("11-16",)]),
        ('[Event "a"]\n1. 11-15 22-18 (2. 9-14\n\n[Site "b"]\n1. 11-16 *', [None, ("11-16",)]),
        ("11 15 22 18 *", [None]),
        ('[FEN "B:W21:B30-K32"] *', [None]),
        ('[FEN "B:W21:B100-5"] *', [None]),
    ],
)
def test_line_ends_and_comments_do_not_matter(text: str, moves: list[tuple[str, ...] | None]) -> None:
    assert [game.moves if isinstance(game, PdnGame) else None for game in read(text)] == moves


def test_header_may_hold_quotes_and_a_game_no_moves() -> None:
    game = game_of('[Event "the "Union" match [1]"]\n[Result "0-1"]\n')
    assert (game.headers, game.moves, game.result) == ({"Event": 'the "Union" match [1]'}, (), "0-1")


def test_games_without_moves_are_separate() -> None:
    games = list(read('[Event "1"]\n[Result "1-0"]\n\n[Event "2"]\n[Result "0-1"]\n\n[Event "3"]\n1. 11-15 *'))
    assert [(game.headers, game.moves, game.result) for game in games if isinstance(game, PdnGame)] == [
        ({"Event": "1"}, (), "1-0"),
        ({"Event": "2"}, (), "0-1"),
        ({"Event": "3"}, ("11-15",), "*"),
    ]


def test_text_without_games_has_none() -> None:
    assert list(read("\n \n{only a comment}\n")) == list(read("")) == []


# -- captures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written", ["26x1", "26x17x1", "26x10x1", "26x17x10x1", "26x17 17x10 10x1", "26-1", "26x17x10 10x1"]
)
def test_squares_between_may_be_left_out(written: str) -> None:
    game = game_of(f'[FEN "W:W26,32:B6,14,22,25"]\n1... {written} 2. 25-29')
    assert game.moves == ("26x17x10x1", "25-29")
    assert len(game.actions) == 4


def test_capture_that_could_be_two_is_refused_with_both() -> None:
    headers = f'[FEN "{CIRCLE}"]\n'
    error = broken(f"{headers}1. 6x6")
    assert error.line == 2
    assert error.reason == "6x6 can be 6x13x22x15x6, 6x15x22x13x6: it must have the squares between"
    assert game_of(f"{headers}1. 6x15x22x6").moves == ("6x15x22x13x6",)


def test_game_may_end_in_the_middle_of_a_capture() -> None:
    game = game_of(f'[FEN "{CIRCLE}"]\n1. 6x15x22 *')
    assert game.moves == ("6x15x22",)
    error = broken(f'[FEN "{CIRCLE}"]\n1. 6x15x22 32-28 *')
    assert error.reason == "32-28 is not legal: Black can play 22x13x6"


SPELLINGS = [
    ("1 - 0", "1-0"),
    ("0\u2013 1", "0-1"),
    ("2\u20120", "1-0"),
    ("1\u2212 1", "1/2-1/2"),
    ("1/2 \u2010 1/2", "1/2-1/2"),
    ("½\u2014½", "1/2-1/2"),
    ("½", "1/2-1/2"),
    ("0 - 0", "*"),
]


# -- results and headers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "after", "result"),
    [
        *(("", spelt, plain) for spelt, plain in SPELLINGS),
        ("1-0", "1-0", "1-0"),
        ("0-1", "*", "0-1"),
        ("*", "1/2-1/2", "1/2-1/2"),
        ("1-1", "1/2-1/2", "1/2-1/2"),
        ("Black won", "", "*"),
    ],
)
def test_result_is_the_known_one_of_header_and_end(header: str, after: str, result: str) -> None:
    assert game_of(f'[Result "{header}"]\n1. 11-15 24-20 {after}').result == result


def test_two_results_that_differ_are_refused() -> None:
    reason = broken('[Result "1-0"]\n1. 11-15 0-1').reason
    assert reason == "the result is 1-0 in the header and 0-1 after the moves"


@pytest.mark.parametrize(
    "fen", ["W:W18,K30:B2,K7", "W:BK7,2:W18,K30", "W : W 18, K30 : B2, K7 .", "W:WK30-K30,18-18:B2,K7-7"]
)
def test_positions_are_read_in_every_way_of_writing(fen: str) -> None:
    game = game_of(f'[SetUp "1"]\n[FEN "{fen}"]\n1... 30-25 2. 7-10')
    assert (game.start, game.moves, game.headers) == ("W:W18,K30:B2,K7", ("30-25", "7-10"), {})


@pytest.mark.parametrize("game_type", ["21,B,8,8,N1,0", " 21 "])
def test_game_type_of_american_checkers_is_read(game_type: str) -> None:
    assert game_of(f'[GameType "{game_type}"]\n1. 11-15').moves == ("11-15",)


# -- broken games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "line", "reason"),
    [
        ("1. 11-15 24-20\n2. 15-24 *", 3, "15-24 is not legal: Black can play 7-11, 8-11, "),
        ("1. 11-15 22-18\n\n2. 15-19 *", 4, "15-19 is not legal: Black can play 15x22"),  # a capture is compulsory
        ("1. 11-33 *", 2, "11-33 is not legal: Black can play 9-13, "),
        ("1. 11-15\nc3-d4 *", 3, "expected a move such as 11-15 or 15x22, not 'c3-d4'"),
        ("1. 11-15 24-20\nWhite resigns\n1-0", 3, "expected a move such as 11-15 or 15x22, not 'White'"),
        ("1. 11-155 *", 2, "expected a move such as 11-15 or 15x22, not '11-155'"),
        ("1. 11-15\n{never closed 24-20\n2. 8-11 1-0", 3, "there is no } after this {"),
        ("1. 11-15\n(never closed 24-20\n2. 8-11 1-0", 3, "there is no ) after this ("),
        ("1. 11-15\n24-20) 2. 8-11 1-0", 3, "there is no ( before this )"),
        ('[White "A" 1. 11-15 *', 2, """expected a header such as [Event "match"], not '[White "A" 1. 11-15 *'"""),
        ('[SetUp "1"]\n1. 11-15 *', 1, "SetUp is 1, so there must be a header FEN with the position"),
        ('[FEN "B:W40:B1"]\n1. 1-5 *', 1, "expected squares from 1 to 32"),
        ('[GameType "20"]\n1. 32-28 *', 1, "GameType is '20'; only 21, American checkers, can be read"),
        ('[FEN "B:WK1:B"]\n1. 11-15 *', 3, "11-15 is not legal: Black can play no move"),
    ],
)
def test_broken_game_is_reported_with_its_line_and_the_others_are_kept(game: str, line: int, reason: str) -> None:
    text = f'[Event "first"]\n1. 11-15 24-20 1-0\n\n[Event "broken"]\n{game}\n\n[Event "last"]\n1. 11-16 0-1\n'
    first, wrong, last = read(text)
    assert isinstance(wrong, BrokenGame)
    assert (wrong.line - 3, wrong.headers["Event"]) == (line, "broken")
    assert wrong.reason.startswith(reason)
    assert isinstance(first, PdnGame)
    assert isinstance(last, PdnGame)
    assert (first.headers["Event"], last.headers["Event"]) == ("first", "last")


def test_broken_game_without_headers_ends_at_its_result() -> None:
    wrong, game = read("11-15 8-8\n9-14 1-0\n11-16 *")
    assert isinstance(wrong, BrokenGame)
    assert wrong.line == 1
    assert isinstance(game, PdnGame)
    assert game.moves == ("11-16",)


@pytest.mark.parametrize("moves", ["", "11-15 *\n"])
def test_game_whose_only_header_is_wrong_is_broken(moves: str) -> None:
    (wrong,) = read(f'[FEN "B:W21:B9\n{moves}')
    assert isinstance(wrong, BrokenGame)
    assert (wrong.line, wrong.reason) == (1, """expected a header such as [Event "match"], not '[FEN "B:W21:B9'""")


@pytest.mark.parametrize("text", ["\0" * 10_000, "1" * 10_000, "11x18x" * 2_000 + "25"])
def test_reason_shows_the_beginning_of_a_long_text(text: str) -> None:
    (wrong,) = read(text)
    assert isinstance(wrong, BrokenGame)
    assert len(wrong.reason) < 400
    assert "..." in wrong.reason


# -- the writer --------------------------------------------------------------------------------------------------------


RESULTS_OR_NONE = st.sampled_from(["1-0", "0-1", "1/2-1/2", "*", None])
STARTS = st.one_of(
    st.just(START),
    st.just("B:W9,10,17,32:BK15:J15"),  # in the middle of a capture
    st.builds(
        lambda kind, seed: kind(np.random.default_rng(seed), 1)[0], st.sampled_from([crowds, hunts]), st.integers(0)
    ),
)


@settings(max_examples=60, deadline=None, database=None)
@given(STARTS, st.lists(st.integers(0, 30), max_size=40), st.integers(0, 9), RESULTS_OR_NONE)
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
    actions = game_of("11-15 24-20 8-11 28-24 9-13 22-18 15x22 25x18").actions
    assert write(record(actions, headers={"Event": "a match"})) == textwrap.dedent(
        """\
        [Event "a match"]
        [Result "*"]
        1. 11-15 24-20 2. 8-11 28-24 3. 9-13 22-18 4. 15x22 25x18 *

        """
    )
    from_white = game_of('[FEN "W:W26,32:B6,14,22,25"]\n26x1 25-29 32-27 *')
    assert write(from_white).splitlines()[1:] == [
        '[SetUp "1"]',
        '[FEN "W:W26,32:B6,14,22,25"]',
        "1... 26x17x10x1 2. 25-29 32-27 *",
        "",
    ]


def test_result_is_that_of_the_last_position_unless_it_is_given() -> None:
    actions = Board.of(WCDF.from_string("B:W18:B14,1")).play((14, 23))
    assert record(actions, start="B:W18:B14,1").result == "1-0"
    assert record([], start="B:W18:B").result == "0-1"
    assert record([]).result == "*"
    assert record(actions, start="B:W18:B14,1", result="1/2-1/2").result == "1/2-1/2"


def test_record_refuses_what_is_no_game() -> None:
    with pytest.raises(ValueError, match=r"action 3 is illegal here, where 9-13, .* can be played"):
        record([3])
    with pytest.raises(ValueError, match=r"result must be one of 1-0, 0-1, 1/2-1/2, \*, not 'won'"):
        record([], result="won")
    for name, value in (("Two words", "x"), ("Event", "two\nlines"), ("Event", 'end"] ')):
        with pytest.raises(ValueError, match="a header must be a word and one line"):
            write(record([], headers={name: value}))
