"""Games in the terminal as stored texts: what people type and read, boards from every side, and the rules in words.

`python -m tests.data transcripts` writes tests/data/transcripts again.
"""

import io
from pathlib import Path
from typing import Any

from jaxgames import make
from jaxgames.play import HUMAN, Session
from jaxgames.play.terminal import Terminal
from jaxgames.play.text_board import board_text
from jaxgames.play.words import game_title, rules

FOLDER = Path(__file__).parents[1] / "data" / "transcripts"
BOXES = "dots_and_boxes(rows=1, cols=2)"
STAR, DIAMOND = "chinese_checkers(size=1, num_players=3)", "chinese_checkers_diamond(size=3, pieces=3)"

# (game, seats, position or "" for the start, lines that are typed)
GAMES: dict[str, tuple[str, list[str], str, list[str]]] = {
    "boxes": (
        *(BOXES, [HUMAN, "first"], ""),
        [
            *("?", "hop", "h(5,0)", "v", "u", "h(1,1)", "h(0,0)", "h greedy", "h nobody", "u", ""),
            *("h(0,1)", "h(1,1)", "v(0,1)", "v(0,2)", "bla", "?", "u", "save", "q", "never read"),
        ],
    ),
    "boxes_two_in_one_turn": (BOXES, ["first", HUMAN], "1010100 .. 1", ["V(0,1) h(0,1)", "u", "v(0,1)", "u", "resign"]),
    "agents_alone": (BOXES, ["first", "first"], "", []),
    "checkers": ("checkers", ["first", HUMAN], "W:W22,32:B17,18,11,9", ["22-17", "22x8", "u", "22x13x6", "q"]),
    "star": (
        *("chinese_checkers(size=2, num_players=2)", [HUMAN, HUMAN]),
        *("0/.0/...0.../....../...../....../...1.../1./1 0 - 1", ["0=>7", "end", "u", "u", "2=>12"]),
    ),
    "star_of_three": (STAR, [HUMAN, "first", "first"], "", ["0->3", "3->6", "resign"]),
    "diamond": (DIAMOND, ["first", HUMAN], "", ["rules", "8>4", "h greedy", "u", "5>4"]),
    "minichess": ("minichess", [HUMAN, "first"], "k4/3P1/1K3/5/5 w - - 0 1", ["d4", "d4d5", "d4d5q", "q"]),
}
SIDES = [
    ("checkers", [HUMAN, "first"]),
    ("checkers", [HUMAN, HUMAN]),
    ("minichess", ["first", HUMAN]),
    ("dots_and_boxes(rows=1, cols=1)", [HUMAN, HUMAN]),
    (DIAMOND, [HUMAN, "first"]),
    (STAR, ["first", HUMAN, "first"]),
    (STAR, ["first", "first", "first"]),
    ("chinese_checkers(size=4, num_players=6)", [HUMAN, *["first"] * 5]),
]
RULES = (
    *("checkers", "checkers(draw_rule=adjudicated)", "checkers(draw_rule=openspiel)", "checkers(max_plies=300)"),
    *("minichess", "minichess(rules=king_capture)", "minichess(double_step=True)", "minichess(promotion=queen)"),
    *("minichess(max_plies=60)", "dots_and_boxes(rows=3, cols=3)", "dots_and_boxes(rows=2, cols=2)"),
    *("chinese_checkers_diamond", "chinese_checkers_diamond(tip_lock=True)", "chinese_checkers(num_players=2)"),
    "chinese_checkers(size=1, num_players=4)",
)


def transcript(game: Any, seats: list[str], position: str = "", lines: list[str] | None = None, **options: Any) -> str:
    """Returns all that the terminal writes until the lines end."""
    env = make(game) if isinstance(game, str) else game
    typed, out = iter(lines or []), io.StringIO()

    def read(prompt: str) -> str:
        out.write(prompt)
        if (line := next(typed, None)) is None:
            raise EOFError
        return line

    start = env.from_string(position) if position else None
    Terminal(Session(env, seats, state=start), read=read, out=out, **options).run()
    check_width(out.getvalue())
    return out.getvalue()


def check_width(text: str) -> None:
    """Checks that lines have at most 80 characters, but for those with what was typed or with the name of a file."""
    assert all(len(line) <= 80 for line in text.split("\n") if not ("help> " in line or "saved in" in line))


def made_transcripts() -> dict[str, str]:
    """Returns all texts, without what depends on the agents that were compiled before."""
    texts = {name: transcript(*row) for name, row in GAMES.items()}
    boards = (f"{game}: {', '.join(seats)}\n\n{board_text(Session(game, seats))}\n" for game, seats in SIDES)
    told = ((game, game_title(make(game)), rules(make(game), theme=None)) for game in RULES)
    texts["boards"] = "\n\n".join(boards)
    texts["rules"] = "\n\n".join(
        "\n".join((f"# {game}", title, text.goal, *text.paragraphs)) for game, title, text in told
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
