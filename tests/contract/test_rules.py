"""The rules of every game: rows of its cases, and stored games.

`python -m tests.data playthroughs` writes tests/data/playthroughs again: a change of rules, numbers of actions,
observations or texts needs a new `env.version`. A file has the version and the env, and for each board its text, the
seat to move, its legal actions, a checksum of the observations of all seats, and the action that is played with what it
pays.
"""

import dataclasses
import zlib
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from tests.contract.games import of_each_game
from tests.helpers.cases import Cases, Rule
from tests.helpers.positions import compiled, legal, play, start


def begun(rule: Rule) -> Any:
    """Returns the board on which a rule begins."""
    state = jax.device_get(jaxgames.make(rule.env).from_string(rule.position))
    counters = {name: np.asarray(value, getattr(state, name).dtype) for name, value in rule.counters.items()}
    return dataclasses.replace(state, **counters)


def ended(rule: Rule) -> Any:
    """Returns the board after the actions of a rule; all but the last leave it live."""
    return play(jaxgames.make(rule.env), begun(rule), *rule.plays.split())


@of_each_game("rule", lambda cases: cases.rules)
def test_rule_holds(cases: Cases, rule: Rule) -> None:
    env, state = jaxgames.make(rule.env), ended(rule)
    outcome = env.outcome(state)
    kind, won = (rule.end, ()) if rule.winner is None else ("win", (rule.winner,))
    assert (outcome.kind, outcome.winners) == (kind, won)
    assert rule.reason in outcome.reason
    assert np.flatnonzero(jax.jit(env.winners)(state)).tolist() == list(won)
    if rule.text or not rule.plays:
        assert env.to_string(state) == (rule.text or rule.position)
    if rule.legal is not None:
        assert {text for text in legal(env, state) if text.startswith(rule.of)} == {*rule.legal.split()}
    if rule.rewards is not None or rule.winner is None:
        paid = np.zeros(env.num_players) if rule.rewards is None else rule.rewards
        np.testing.assert_allclose(state.rewards, paid, rtol=1e-6, atol=1e-7)


# -- stored games ------------------------------------------------------------------------------------------------------

FOLDER = Path(__file__).parents[1] / "data" / "playthroughs"
STAR, DIAMOND = "chinese_checkers(size={}, num_players={}, reward={!r})", "chinese_checkers_diamond(size={}, pieces={})"
BOXES = "dots_and_boxes(rows=1, cols=2, reward={!r})"
KNIGHTS = "b1a3 b5c3 a3b1 c3b5 "

# The env, the position or "" for the start, and actions: their texts, or the number of those that are picked by rule.
PLAYTHROUGHS: dict[str, tuple[str, str, str | int]] = {
    "checkers": ("checkers", "", 12),
    "checkers_chain": ("checkers", "B:W9,10,17,18,32:BK6", "6x15 15x22 22x13 13x6"),
    "checkers_crowned": ("checkers", "B:W26,27:B22", "22x31 27-23 31-27"),
    "checkers_won": ("checkers(draw_rule='openspiel')", "W:W19:B15", "19x10"),
    "checkers_limit": ("checkers(draw_rule='adjudicated', max_plies=5)", "", 5),
    "star_two": (STAR.format(2, 2, "positive_sum"), "", 12),
    "star_three": (STAR.format(1, 3, "movement"), "", 8),
    "star_four": (STAR.format(2, 4, "goal"), "", 6),
    "star_six": (STAR.format(2, 6, "positive_sum"), "", 8),
    "star_chain": (
        STAR.format(2, 2, "win_loss"),
        "0/0./......./....../1.0../..1.../......./1./. 0 - 0",
        "18=>29 29=>36",
    ),
    "star_won": (STAR.format(2, 2, "sparse"), "1/1./......./....../...../...0../..11.../.0/0 0 - 0", "24=>34"),
    "star_pass": ("chinese_checkers(size=1, num_players=2, max_rounds=1)", "0/.11./1.1/..../. 0 - 0", "end 2->1"),
    "diamond": (DIAMOND.format(5, 6), "", 8),
    "diamond_lock": (
        "chinese_checkers_diamond(size=5, pieces=6, tip_lock=True)",
        ".00../0..../.0.../.1.../..1.. 0 0",
        4,
    ),
    "diamond_won": (DIAMOND.format(4, 3), "..../..../0..1/.0.1 0 7", "13>14"),
    "diamond_pass": ("chinese_checkers_diamond(size=3, pieces=1, max_plies=2)", "011/1../1.. 0 0", "0>0 2>5"),
    "boxes_win_loss": (BOXES.format("win_loss"), "", 7),
    "boxes_margin": (BOXES.format("margin"), "1111101 .. 1", "v(0,1)"),
    "boxes_boxes": (BOXES.format("boxes"), "1010011 .. 0", 3),
    "chess": ("minichess", "", 12),
    "chess_mate": ("minichess", "k4/5/K4/5/4R w - - 0 1", "e1e5"),
    "chess_repeated": ("minichess", "", KNIGHTS * 2),
    "chess_material": ("minichess(board='baby', reward='material', max_plies=8)", "", 8),
    "chess_promoted": ("minichess", "1n3/P3k/5/5/K4 w - - 0 1", "a4b5r e4e3"),
    "chess_kings": (
        "minichess(board='mallet', rules='king_capture', double_step=True, promotion='queen')",
        "4k/3P1/5/5/K4 b - - 0 1",
        "e5d5 a1a2 d5d4",
    ),
}


def playthrough(name: str, position: str, plays: str | int) -> str:
    env = jaxgames.make(name)
    state = env.from_string(position) if position else start(env)
    lines = [f"{env.id} version {env.version}", str(env)]
    actions = plays.split() if isinstance(plays, str) else [""] * plays
    for ply, text in enumerate([*actions, None]):
        look = compiled(env).look(state)
        legal = np.flatnonzero(look.mask).tolist()
        seen = zlib.crc32(np.packbits(look.seats).tobytes())
        lines += ["", env.to_string(state), f"seat {state.current_player}, sees {seen:08x}", f"legal {legal}"]
        if text is not None:
            text = text or env.action_to_string(state, legal[37 * (ply + 1) % len(legal)])
            number = env.action_from_string(state, text)
            state = play(env, state, text)
            paid = [round(float(reward), 6) + 0.0 for reward in state.rewards]  # without the sign of zero
            lines += [f"{text}, action {number}, pays {paid}"]
    return "\n".join([*lines, "", str(env.outcome(state)), ""])


def made_playthroughs() -> dict[str, str]:
    return {f"{name}.txt": playthrough(*row) for name, row in PLAYTHROUGHS.items()}


@pytest.mark.parametrize("name", PLAYTHROUGHS)
def test_playthrough_is_the_stored_one_unless_the_version_is_raised(name: str) -> None:
    made, stored = (
        text.split("\n") for text in (playthrough(*PLAYTHROUGHS[name]), (FOLDER / f"{name}.txt").read_text())
    )
    differing = [lines for lines in zip(stored, made, strict=False) if lines[0] != lines[1]]
    if made[0] == stored[0]:
        assert made == stored, f"raise `version` of the game: what its games are has changed, as in {differing[:1]}"
    assert made == stored, "the version is another: run `python -m tests.data playthroughs`, and read what has changed"


def test_every_game_is_stored_and_nothing_else() -> None:
    assert {row[0].partition("(")[0] for row in PLAYTHROUGHS.values()} == {*jaxgames.list_games()}
    assert {path.stem for path in FOLDER.iterdir()} == PLAYTHROUGHS.keys()
