"""The terminal and words for people: games as stored texts, endings, rules, menus; files, failing agents, the command.

`python -m tests.data transcripts` writes tests/data/transcripts again.
"""

import io
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jaxgames import agents, make
from jaxgames.env import Outcome
from jaxgames.host import legal_moves
from jaxgames.play import HUMAN, Session, to_json
from jaxgames.play.__main__ import first_board, main
from jaxgames.play.notation import legal_texts, parse_turn
from jaxgames.play.terminal import Terminal, read_game
from jaxgames.play.text_board import board_text
from jaxgames.play.words import ending, first_game, game_title, offered_games, rules, turn_text, words_of
from jaxgames.render import seat_names
from tests.helpers.commands import NAME, saved_by_editors
from tests.helpers.scripted_agents import HostAgent
from tests.helpers.sticks import Sticks

AGAINST_FIRST = [HUMAN, "first"]
FOLDER = Path(__file__).parents[1] / "data" / "transcripts"
BOXES = "dots_and_boxes(rows=1, cols=2)"
STAR, DIAMOND = "chinese_checkers(size=1, num_players=3)", "chinese_checkers_diamond(size=3, pieces=3)"
BLOCKED = (
    "0/00/000/0000/.......0...../............/.........../........../........./"
    "........../.........../............/............./1111/111/11/1 0 - 0"
)

# (game, seats, position or "" for the start, lines that are typed)
GAMES: dict[str, tuple[str, list[str], str, list[str]]] = {
    "boxes": (
        *(BOXES, AGAINST_FIRST, ""),
        [
            *("?", "hop", "h(5,0)", "v", "u", "h(1,1)", "h(0,0)", "h greedy", "h nobody", "u", ""),
            *("h(0,1)", "h(1,1)", "v(0,1)", "v(0,2)", "bla", "?", "u", "h alphabeta", "save", "q", "never read"),
        ],
    ),
    "boxes_two_in_one_turn": (
        *(BOXES, ["first", HUMAN], "1010100 .. 1"),
        ["v(0,1) v(0,1)", "V(0,1) h(0,1)", "u", "v(0,1)", "u", "resign"],
    ),
    "boxes_with_one_h": (BOXES, AGAINST_FIRST, "1101000 .. 0", ["h("]),
    "boxes_of_people": (BOXES, [HUMAN, HUMAN], "", ["h alphabeta"]),
    "boxes_for_a_margin": ("dots_and_boxes(rows=1, cols=2, reward=margin)", AGAINST_FIRST, "", ["h alphabeta"]),
    "agents_alone": (BOXES, ["first", "first"], "", []),
    # it fails at its first two moves and at hints; a typed move is played for it
    "boxes_with_a_failing_agent": (BOXES, [HUMAN, "failing"], "", ["h failing", "h(1,1)", "", "v(0,0)"]),
    "failing_agents_alone": (BOXES, ["failing", "failing"], "", ["h failing", "", "v(0,0)"]),
    # squares on the way may be left out, and a capture may be written as a step
    "checkers": (
        *("checkers", ["first", HUMAN], "W:W22,32:B17,18,11,9"),
        ["22-17", "22x15x11", "22-15", "u", "22x8", "u", "22x13x6", "q"],
    ),
    "checkers_by_two_ways": ("checkers", ["first", HUMAN], "W:W22:B17,18,10,9", ["22x6"]),
    "star": (
        *("chinese_checkers(size=2, num_players=2)", [HUMAN, HUMAN]),
        *(
            "0/.0/...0.../....../...../....../...1.../1./1 0 - 1",
            ["0=>7", "end", "u", "u", "0=>7 end", "u", "u", "2=>12"],
        ),
    ),
    # a number is not the beginning of a longer one: 17 is occupied, and 18 is not
    "star_of_two": ("chinese_checkers(size=4, num_players=2)", [HUMAN, HUMAN], BLOCKED, ["9->1"]),
    "star_of_three": (STAR, [HUMAN, "first", "first"], "", ["0->3", "3->6", "resign"]),
    "diamond": (DIAMOND, ["first", HUMAN], "", ["rules", "8>4", "h greedy", "u", "5>4"]),
    "minichess": ("minichess", AGAINST_FIRST, "k4/3P1/1K3/5/5 w - - 0 1", ["d4", "d4d5", "d4d5q", "q"]),
}
SIDES = [
    ("checkers", AGAINST_FIRST),
    ("checkers", [HUMAN, HUMAN]),
    ("minichess", ["first", HUMAN]),
    ("dots_and_boxes(rows=1, cols=1)", [HUMAN, HUMAN]),
    (DIAMOND, AGAINST_FIRST),
    (STAR, ["first", HUMAN, "first"]),
    (STAR, ["first", "first", "first"]),
    ("chinese_checkers(size=4, num_players=6)", [HUMAN, *["first"] * 5]),
]
# of a game: an outcome, or the last position of a game that counts points
ENDINGS: list[tuple[str, Outcome | str]] = [
    *(("minichess", Outcome("win", (0,), reason)) for reason in ("checkmate", "seat 1 resigned", "no legal move")),
    ("minichess", Outcome("draw", (), "stalemate")),
    ("minichess", Outcome("truncated", (), "256 plies without a winner")),
    ("minichess", Outcome("forfeit", (), "illegal action by seat 1")),
    ("dots_and_boxes(rows=1, cols=3)", "1111111111 001 0"),
    (BOXES, "1111111 01 0"),
]
RULES = (
    *("checkers", "checkers(draw_rule=adjudicated)", "checkers(draw_rule=openspiel)", "checkers(max_plies=300)"),
    *("minichess", "minichess(rules=king_capture)", "minichess(double_step=True)", "minichess(promotion=queen)"),
    *("minichess(max_plies=60)", "dots_and_boxes(rows=3, cols=3)", "dots_and_boxes(rows=2, cols=2)"),
    *("chinese_checkers_diamond", "chinese_checkers_diamond(tip_lock=True)", "chinese_checkers(num_players=2)"),
    "chinese_checkers(size=1, num_players=4)",
)


def failing_twice() -> HostAgent:
    """Fails at its first two moves, and then plays the first legal action; it always fails at a hint."""
    failures = iter((KeyError("no disk"), KeyError("no disk")))

    def act(key: Any, states: Any) -> Any:
        for failure in failures:
            raise failure
        return agents.FirstAgent(make(BOXES)).act(key, states)

    def analyse(states: Any) -> Any:
        raise KeyError("no disk")

    return HostAgent(act, analyse)


def transcript(game: str, seats: list[str], position: str, lines: list[str]) -> str:
    """Returns all that the terminal writes until the lines end."""
    env, typed, out, failing = make(game), iter(lines), io.StringIO(), failing_twice()

    def read(prompt: str) -> str:
        out.write(prompt)
        if (line := next(typed, None)) is None:
            raise EOFError
        return line

    def make_agent(text: str, env: Any) -> Any:
        return failing if text == "failing" else agents.make(text, env)

    start = env.from_string(position) if position else None
    session = Session(env, seats, state=start)
    Terminal(session, read=read, out=out, make=make_agent).run()
    check_width(out.getvalue())
    return out.getvalue()


def check_width(text: str) -> None:
    """Checks that lines have at most 80 characters, but for those with what was typed or with the name of a file."""
    assert all(len(line) <= 80 for line in text.split("\n") if not ("help> " in line or "saved in" in line))


def turns_and_endings() -> str:
    """Returns whose turn it is and how games ended, in the words for each group of people."""
    turns: list[tuple[int, list[int]]] = [(0, [0]), (1, [0]), (0, [0, 1]), (2, [])]
    lines = [f"seat {seat}, people {people}: {turn_text(make(STAR), seat, people)}" for seat, people in turns]
    for game, end in ENDINGS:
        env = make(game)
        state = env.from_string(end) if isinstance(end, str) else None
        outcome = env.outcome(state) if isinstance(end, str) else end
        lines += ["", f"{game}: {outcome.kind}, {outcome.reason}"]
        groups: tuple[list[int], ...] = ([0], [1], [], [0, 1])
        lines += [f"people {people}: {ending(env, outcome, state, people)}" for people in groups]
    return "\n".join(lines)


def made_transcripts() -> dict[str, str]:
    """Returns all texts, without what depends on the agents that were compiled before."""
    texts = {name: transcript(*row) for name, row in GAMES.items()}
    boards = (f"{game}: {', '.join(seats)}\n\n{board_text(Session(game, seats))}\n" for game, seats in SIDES)
    rows = ((game, game_title(make(game)), rules(make(game), theme=None)) for game in RULES)
    texts["boards"] = "\n\n".join(boards)
    texts["turns_and_endings"] = turns_and_endings()
    texts["rules"] = "\n\n".join(
        "\n".join((f"# {game}", title, text.goal, *text.paragraphs)) for game, title, text in rows
    )
    kept = {
        name: [line.rstrip() for line in text.splitlines() if "is compiled" not in line] for name, text in texts.items()
    }
    return {f"{name}.txt": "\n".join(lines) + "\n" for name, lines in kept.items()}


def test_transcripts_are_the_stored_ones() -> None:
    made = made_transcripts()
    assert made.keys() == {file.name for file in FOLDER.iterdir()}
    for name, text in made.items():
        assert text.split("\n") == (FOLDER / name).read_text(encoding="utf-8").split("\n"), name


@pytest.mark.parametrize("name", GAMES)
def test_every_listed_move_is_understood(name: str) -> None:
    game, seats, position, _ = GAMES[name]
    env = make(game)
    state = env.from_string(position) if position else env.init()
    listed = legal_texts(env, state)
    turns = [parse_turn(Session(env, seats, state=state), text) for text in listed]
    assert listed
    assert {actions[0] for actions in turns} == set(legal_moves(env, state))


# -- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "needle"), [("", "expected a file to write"), ("x" * 300, "name too long")])
def test_file_that_cannot_be_written_does_not_end_the_game(name: str, needle: str, tmp_path: Path) -> None:
    text = transcript(BOXES, AGAINST_FIRST, "", [f"save {tmp_path / name}", "h(0,0)"])
    assert needle in " ".join(text.split())
    assert "(first) plays h(0,1)" in text


@pytest.mark.parametrize("suffix", ["json", "html"])
def test_game_is_saved_and_read_as_editors_save_it(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"{NAME}.{suffix}"
    transcript(BOXES, AGAINST_FIRST, "", ["h(1,1)", f"save {file}"])
    saved = read_game(file)
    assert saved.moves() == ["h(1,1)", "h(0,0)"]
    for content in saved_by_editors(file.read_text(encoding="utf-8")):
        file.write_bytes(content)
        assert to_json(read_game(file)) == to_json(saved)


# -- the command ---------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_politely() -> None:
    def read(prompt: str) -> str:
        raise KeyboardInterrupt

    out = io.StringIO()
    Terminal(Session(BOXES, AGAINST_FIRST), read=read, out=out).run()
    assert out.getvalue().endswith("stopped\n\nthe game is not over\nplies: 0\n")


@pytest.mark.parametrize(
    ("arguments", "needles"),
    [
        (["nogame"], ("'nogame'", "checkers")),
        (["dots_and_boxes", "--seats", "human,nobody"], ("'nobody'", "random")),
        (["dots_and_boxes", "--position", "1", "--terminal"], ("'edges boxes seat'",)),
        (["dots_and_boxes", "--load", "x.json", "--terminal"], ("No such file", "x.json")),
    ],
)
def test_command_ends_with_the_reason(arguments: list[str], needles: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert all(needle in str(ended.value) for needle in needles)


def test_star_without_parameters_is_a_small_board_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert first_board("chinese_checkers") == "chinese_checkers(size=2, num_players=3)"
    assert "chinese_checkers(size=4, num_players=6, " in capsys.readouterr().out
    for text in ("checkers", "chinese_checkers(size=4)", "minichess"):
        assert first_board(text) == text
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_command_works_with_a_pipe() -> None:
    command = [sys.executable, "-m", "jaxgames.play", "dots_and_boxes(rows=1, cols=1)", "--terminal", "--seed", "3"]
    done = subprocess.run(command, input="h(0,0)\n?\n", capture_output=True, text=True, check=True, timeout=300)
    assert "Your turn (Red), ? for help> h(0,0)" in done.stdout
    assert "the game is not over" in done.stdout
    assert "Traceback" not in done.stderr


# -- rules and menus -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", offered_games())
def test_every_choice_of_the_menus_makes_a_board(game: str) -> None:
    menus = words_of(game).menus
    for menu in menus:
        assert menu.default in dict(menu.options)
    for chosen in itertools.product(*(dict(menu.options) for menu in menus)):
        assert make(f"{game}({', '.join(chosen)})").id == game
    assert game != "chinese_checkers" or make(first_game(game)).num_players in (2, 3)


def test_game_of_ones_own_has_the_first_words_of_its_docstring_and_numbered_players() -> None:
    found = rules(Sticks())
    assert (found.title, found.pictures) == ("Sticks", ())
    assert found.paragraphs[0].startswith("Action a takes a + 1 sticks.")
    assert seat_names(Sticks(num_players=3)) == ["Player 1", "Player 2", "Player 3"]
