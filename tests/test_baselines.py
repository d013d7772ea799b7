"""Baseline agents: each file loads and plays, its card is complete, other games are refused; the levels of games."""

import itertools
import re
from typing import Any

import jax
import pytest

import jaxgames
from jaxgames import ParameterError, agents, arena, baselines
from jaxgames.baselines import cards
from jaxgames.baselines.level_agents import shares_won
from jaxgames.play import __main__ as play_command
from jaxgames.play import opponents
from jaxgames.policies import file as exported
from tests.helpers.sticks import Sticks
from train.baselines.levels import BOARDS

MAX_BYTES = 4_000_000
NAMES = baselines.list_baselines()
MINICHESS = jaxgames.make("minichess")


def test_every_game_has_an_agent_for_its_default_board() -> None:
    for game in jaxgames.list_games():
        assert baselines.find(jaxgames.make(game)) is not None, game


def test_files_are_small_and_belong_to_their_cards() -> None:
    files = sorted(cards.FOLDER.glob("*.policy"))
    assert [file.stem for file in files] == NAMES
    assert sum(file.stat().st_size for file in files) <= MAX_BYTES
    for name in NAMES:
        card = baselines.card(name)
        game, (header, module, params) = exported.read(card.file)
        assert (card.name, card.env, card.sha256) == (name, str(game), header.sha256)
        assert exported.digest_of(module, params) == card.sha256
        behind_integers = [False, *(leaf.dtype == "int8" for leaf in params[:-1])]  # their scales
        sizes = (leaf.size for leaf, is_scale in zip(params, behind_integers, strict=True) if not is_scale)
        assert sum(sizes) == card.parameters


@pytest.mark.parametrize("name", NAMES)
def test_card_is_complete(name: str) -> None:
    card = baselines.card(name)
    header = exported.read(card.file)[1].header
    assert {*header.platforms} >= {"cpu", "cuda", "tpu"}
    assert any((command.steps or 0) > 0 for command in card.commands) == (header.iteration > 0)
    assert [rate.opponent for rate in card.win_rates[:2]] == ["random", "greedy"]
    for rate in card.win_rates:
        assert rate.interval[0] <= rate.rate == pytest.approx(rate.wins / rate.games, abs=1e-3)
        assert rate.rate <= rate.interval[1]
    assert {"random", "greedy", "baseline"} <= {rating.agent for rating in card.ladder}
    paths = re.findall(r'["=\s](/|~|[A-Za-z]:\\)', (cards.FOLDER / f"{name}.json").read_text())
    assert paths == [], "of the computer that wrote the card"


@pytest.mark.parametrize(
    ("game", "name"),
    [
        ("minichess(max_plies=40, reward=material)", "minichess"),
        ("checkers(draw_rule=openspiel)", "checkers"),
        ("chinese_checkers(size=2, reward=sparse, max_rounds=9)", "chinese_checkers_2"),
        ("minichess(rules=king_capture)", None),
        ("chinese_checkers(size=2, num_players=3)", None),
        ("chinese_checkers_diamond(tip_lock=True)", None),
        ("dots_and_boxes(rows=4)", None),
    ],
)
def test_games_that_differ_in_rewards_and_limits_only_have_one_agent(game: str, name: str | None) -> None:
    env = jaxgames.make(game)
    assert baselines.find(env) == baselines.find(jaxgames.auto_reset(env)) == name


def test_game_without_an_agent_and_wrong_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"no baseline agent for minichess\(board='baby'.*checkers\(.*Use greedy"):
        agents.make("baseline", jaxgames.make("minichess(board=baby)"))
    with pytest.raises(ParameterError, match=r"name must be one of 'checkers', .*, not 'chess'"):
        baselines.card("chess")
    for parameter in ("temperature=-1", "top=0", "epsilon=2", "a=1"):
        with pytest.raises(ParameterError, match=parameter.partition("=")[0]):
            agents.make(f"baseline({parameter})", MINICHESS)


def test_text_of_an_agent_makes_it_again() -> None:
    of_search = "simulations=16, search=puct, seats=max_n, temperature=0.5, top=3"
    for text in ("baseline(temperature=0.5, top=3, epsilon=0.25)", f"baseline({of_search})"):
        assert str(agents.make(text, MINICHESS)) == text


def test_search_is_for_the_reward_that_the_network_learned() -> None:
    """The network of Dots and Boxes learned to win boxes, and a search of another reward would mix two units."""
    env = jaxgames.make("dots_and_boxes")
    assert env.reward == "win_loss"  # pyright: ignore[reportAttributeAccessIssue]  # of this game
    for game in (env, jaxgames.auto_reset(env)):
        agent: Any = agents.make("baseline(simulations=16)", game)
        assert "reward='boxes'" in str(agent.env)
        states = jax.eval_shape(jax.vmap(game.init), jax.random.split(jax.random.key(0), 2))
        assert jax.eval_shape(agent.act, jax.random.key(0), states).shape == (2,)
        assert jax.eval_shape(agents.analyse, agent, states).values is None
    learned = jaxgames.make("dots_and_boxes(reward=boxes)")
    assert agents.make("baseline(simulations=16)", learned).has_values  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("size", [2, 3, 4])  # values of the seat to move only; trained on moves alone; untrained
def test_search_needs_a_network_with_trained_values(size: int) -> None:
    with pytest.raises(ParameterError, match="its network has no trained value for every seat"):
        agents.make("baseline(simulations=16)", jaxgames.make("chinese_checkers", size=size))


@pytest.mark.slow
def test_agent_beats_random_clearly() -> None:
    """The arena counts an illegal action as a loss, so these games also show that its actions are legal."""
    players = [agents.make("baseline", MINICHESS), agents.make("random", MINICHESS)]
    seats = arena.seating((1, 1), "alternating", 24, jax.random.key(0))
    games = arena.play(MINICHESS, players, seats, jax.random.key(1))
    own, of_random = (arena.results(MINICHESS, games, seats, number) for number in range(2))
    assert own["wins"] >= 15
    assert of_random["wins"] <= 2


@pytest.mark.parametrize(
    ("game", "has_values"),
    [
        ("minichess", True),
        ("dots_and_boxes", False),  # trained with reward=boxes
        ("chinese_checkers(size=3, reward=win_loss)", False),  # the reward of an untrained network
    ],
)
def test_values_are_left_out_for_another_reward_and_an_untrained_network(game: str, has_values: bool) -> None:
    env = jaxgames.make(game)
    states = jax.eval_shape(jax.vmap(env.init), jax.random.split(jax.random.key(0), 2))
    found = jax.eval_shape(agents.analyse, agents.make("baseline", env), states)
    assert found.probabilities.shape == (2, env.num_actions)
    assert (found.values is not None) == has_values


def test_alphabeta_plays_by_default_where_the_file_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a platform that no file of a baseline agent was made for."""
    seen: list[list[str]] = []
    monkeypatch.setattr(play_command, "play", lambda env, seats, options, make: seen.append(seats))
    monkeypatch.setattr(jax.export, "default_export_platform", lambda: "rocm")
    monkeypatch.setattr(opponents, "default_agent", opponents.default_agent.__wrapped__)
    play_command.main(["minichess"])
    assert seen == [["human", "alphabeta"]]
    with pytest.raises(ParameterError, match=r"made for cpu, cuda, tpu, not for rocm\. Use greedy, or"):
        agents.make("baseline", jaxgames.make("minichess"))


# -- levels ----------------------------------------------------------------------------------------------------------

GAMES = (
    *BOARDS,
    "chinese_checkers",
    "chinese_checkers(size=2, num_players=3)",
    "dots_and_boxes(rows=9, cols=1)",
    "minichess(board=baby, double_step=True)",
)


@pytest.mark.parametrize("game", GAMES)
def test_every_board_has_three_levels_that_can_be_made(game: str) -> None:
    env = jaxgames.make(game)
    levels = baselines.levels(env)
    assert list(levels) == ["easy", "medium", "hard"]
    assert len({*levels.values(), "random"}) == 4
    for text in levels.values():
        agents.make(text, env)


def test_hardest_level_searches_where_that_is_quick() -> None:
    for size, searches in ((2, True), (4, True), (5, False)):
        env = jaxgames.make(f"chinese_checkers(size={size}, num_players=2)")
        assert baselines.levels(env)["hard"].startswith("mcts") == searches
    of_own = baselines.levels(Sticks(num_players=2))
    assert [text.partition("(")[0] for text in of_own.values()] == ["mcts"] * 3


@pytest.mark.parametrize("game", BOARDS)
def test_ratings_of_the_boards_of_the_page_are_in_the_order_of_the_levels(game: str) -> None:
    env = jaxgames.make(game)
    rated = baselines.ratings(env)
    assert list(rated) == ["easy", "medium", "hard"], "measure again: python -m train.baselines levels"
    elos = [0.0, *(rating.elo for rating in rated.values())]  # random has 0
    assert elos == sorted({*elos})
    for rating in rated.values():
        low, high = rating.interval
        assert low is None or low <= rating.elo
        assert high is None or rating.elo <= high
    odds = [10 ** ((higher - lower) / 400) for lower, higher in itertools.pairwise(elos)]
    assert [*shares_won(env).values()] == pytest.approx([odd / (1 + odd) for odd in odds])


def test_ratings_hold_for_another_reward_and_for_no_other_board() -> None:
    schemes = [jaxgames.make(f"minichess(reward={reward})") for reward in ("win_loss", "material")]
    assert baselines.ratings(schemes[0]) == baselines.ratings(schemes[1])
    assert baselines.ratings(jaxgames.make("minichess(board=baby)")) == {}
