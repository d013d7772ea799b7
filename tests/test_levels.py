"""The levels of every game: agents that play it, in the order of their strength on the boards that were measured."""

from typing import Any

import jax
import pytest

import jaxgames
from jaxgames import agents, baselines
from jaxgames.agents import act_on_one_board
from jaxgames.baselines import level_agents
from tests.helpers.sticks import Sticks
from train.baselines.levels import BOARDS, ladder_command

GAMES = (
    *BOARDS,
    "chinese_checkers",
    "chinese_checkers(size=2, num_players=3)",
    "minichess(rules=king_capture)",
    "dots_and_boxes(rows=9, cols=1)",
    "minichess(board=baby, double_step=True)",
    "checkers(draw_rule=openspiel)",
)


@pytest.mark.parametrize("game", GAMES)
def test_every_board_has_three_levels_that_can_be_made(game: str) -> None:
    env = jaxgames.make(game)
    levels = baselines.levels(env)
    assert list(levels) == ["easy", "medium", "hard"]
    assert len({*levels.values()}) == 3
    assert "random" not in levels.values()
    for text in levels.values():
        agents.make(text, env)


@pytest.mark.slow  # compiles two tree searches
def test_every_level_of_a_small_board_plays_a_legal_action() -> None:
    for game in ("chinese_checkers(size=1, num_players=2)", "dots_and_boxes(rows=1, cols=2)"):
        env = jaxgames.make(game)
        boards = jax.tree.map(lambda leaf: leaf[None], env.init())
        for text in baselines.levels(env).values():
            (action,) = act_on_one_board(agents.make(text, env), jax.random.key(0), boards).tolist()
            assert env.legal_action_mask(env.init())[action], text


@pytest.mark.parametrize(("size", "searches"), [(2, True), (4, True), (5, False)])
def test_hardest_level_of_a_star_searches_where_that_is_quick(size: int, searches: bool) -> None:
    env = jaxgames.make(f"chinese_checkers(size={size}, num_players=2)")
    assert baselines.levels(env)["hard"].startswith("mcts") == searches


def test_game_of_ones_own_has_tree_searches() -> None:
    levels = baselines.levels(Sticks(num_players=2))
    assert [text.partition("(")[0] for text in levels.values()] == ["mcts"] * 3


@pytest.mark.parametrize("game", BOARDS)
def test_ratings_of_the_boards_of_the_page_are_in_the_order_of_the_levels(game: str) -> None:
    env = jaxgames.make(game)
    rated = baselines.ratings(env)
    assert list(rated) == ["easy", "medium", "hard"], "measure again: python -m train.baselines.levels"
    elos = [rating.elo for rating in rated.values()]
    assert 0 < elos[0] < elos[1] < elos[2]
    for rating in rated.values():
        low, high = rating.interval
        assert low is None or low <= rating.elo
        assert high is None or rating.elo <= high


def test_ratings_hold_for_another_reward_and_for_no_other_board() -> None:
    own, other = (
        baselines.ratings(jaxgames.make(f"minichess(reward={reward})")) for reward in ("win_loss", "material")
    )
    assert own == other
    assert baselines.ratings(jaxgames.make("minichess(board=baby)")) == {}


def test_share_of_won_games_is_that_of_the_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 400 Elo more, the odds are 10 to 1; the ladder of `easy` and `hard` lacks `medium`."""
    env = jaxgames.make("checkers")
    texts = baselines.levels(env)
    rows = {
        name: {"agent": texts[name], "elo": elo, "interval": [0.0, None]}
        for name, elo in (("easy", 400.0), ("hard", 0.0))
    }
    monkeypatch.setattr(level_agents, "_stored", lambda: [{"env": str(env), "levels": rows}])
    assert level_agents.shares_won(env) == {"easy": pytest.approx(10 / 11)}
    rows["medium"] = {"agent": texts["medium"], "elo": 0.0, "interval": [0.0, None]}
    assert level_agents.shares_won(env) == pytest.approx({"easy": 10 / 11, "medium": 1 / 11, "hard": 0.5})


def test_rating_of_an_agent_that_is_no_level_any_more_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    row: dict[str, Any] = {"elo": 1.0, "interval": [0.0, 2.0]}
    env = jaxgames.make("checkers")
    stored = [{"env": str(env), "levels": {"easy": {"agent": "first", **row}, "medium": {"agent": "baseline", **row}}}]
    monkeypatch.setattr(level_agents, "_stored", lambda: stored)
    assert list(baselines.ratings(env)) == ["medium"]


def test_command_of_a_ladder_names_the_levels() -> None:
    command = ladder_command("checkers", {"easy": "first", "hard": "greedy(epsilon=0.1)"}, 60)
    assert command.startswith(
        'train.ladder "checkers" "first" "greedy(epsilon=0.1)" --games 60 --output runs/baselines/'
    )
