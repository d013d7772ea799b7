"""Opponents in training: which texts name them, what is drawn when, whose action is played, and pools of the past."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import agents
from jaxgames.agents import RandomAgent
from tests.helpers.commands import run_command
from tests.helpers.scripted_agents import OnHost, Preferring, Taker
from tests.helpers.sticks import Sticks
from tests.train.conftest import Runs
from train import export
from train.models.policy import MIN_ROWS_FOR_TILES
from train.ppo import PPO, Config
from train.ppo.opponents import Games, Opponents, Pool

key = jax.random.key
STICKS = Sticks()
CONFIG = Config(
    env="dots_and_boxes(rows=2, cols=2)", hidden_sizes=(8,), num_envs=4, rollout_length=6, num_minibatches=2
)


def config_of(*opponents: str, **changes: Any) -> Config:
    return dataclasses.replace(CONFIG, opponents=opponents, **changes)


@jax.jit
def replies(players: Any, opponent: Any, boards: Any, mask: jax.Array, epsilon: Any = 0.0) -> jax.Array:
    """int32[B], the opponents' actions, in games in which the learner has no seat."""
    action = jnp.full(opponent.shape, -1, jnp.int32)
    games = Games(opponent, jnp.zeros((opponent.size, STICKS.num_players), jnp.bool_))
    return players.replace(action, key(2), games, boards, mask, epsilon)


# -- texts and settings --------------------------------------------------------------------------------------------


def test_text_of_a_pool_has_every_and_defaults() -> None:
    assert Pool.of("self@every=10") == Pool(every=10, size=8, temperature=1.0)
    assert Pool.of(" self@every=3(size=2, temperature=0) ") == Pool(3, 2, 0)
    for text in ("random", "runs/self", "./self@40", "selfish"):
        assert Pool.of(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("self", "'self@every=10'"),
        ("self@every=0", "every .*from 1 .*not 0"),
        ("self@every=10(size=10001)", "size .*10000, not 10001"),
        ("self@every=10(depth=3)", "'depth'.*size and temperature"),
    ],
)
def test_wrong_pool_is_refused_with_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PPO(config_of("random", text))


def test_opponent_that_cannot_play_is_refused(untrained: Runs) -> None:
    """The first train state needs only the settings of another run."""
    agents.register("on_host", OnHost)
    with pytest.raises(ValueError, match="on_host cannot be an opponent in training: it plays on the host"):
        jax.eval_shape(PPO(config_of("on_host")).init, key(0))
    with pytest.raises(ValueError, match=r"was trained on dots_and_boxes\(rows=2, cols=3.*, not on"):
        jax.eval_shape(PPO(config_of(str(untrained.other_game))).init, key(0))
    same_game = PPO(config_of(str(untrained.other_game), env="dots_and_boxes(rows=2, cols=3)"))
    train_state = jax.eval_shape(same_game.init, key(0))
    with pytest.raises(FileNotFoundError, match="has no checkpoint yet"):
        same_game.load(train_state)


# -- what is drawn -------------------------------------------------------------------------------------------------


def test_each_text_is_drawn_equally_often_and_then_each_member_of_a_pool() -> None:
    opponents = Opponents(STICKS, ("random", Pool(10, size=3)), ())
    games = jax.jit(opponents.draw, static_argnums=1)(key(0), 60_000)
    shares = np.bincount(np.asarray(games.opponent), minlength=4) / 60_000
    np.testing.assert_allclose(shares, [1 / 2, 1 / 6, 1 / 6, 1 / 6], atol=0.01)  # five standard deviations
    seats = np.asarray(games.learner_seats)
    assert (seats.sum(1) == 1).all()
    np.testing.assert_allclose(seats.mean(0), 1 / 3, atol=0.01)
    together = np.bincount(np.asarray(games.opponent) * 3 + seats.argmax(1), minlength=12) / 60_000
    np.testing.assert_allclose(together, np.repeat(shares, 3) / 3, atol=0.008)  # independent


def test_given_seats_are_those_of_the_learner_in_every_game() -> None:
    games = jax.jit(Opponents(STICKS, ("random",), (0, 2)).draw, static_argnums=1)(key(0), 5)
    np.testing.assert_array_equal(games.learner_seats, [[True, False, True]] * 5)


def test_only_boards_that_restart_get_new_players() -> None:
    opponents = Opponents(STICKS, ("random", Pool(10, size=50)), ())
    before, ended = jax.device_get(jax.jit(opponents.draw, static_argnums=1)(key(0), 400)), np.arange(400) % 2 == 0
    after = jax.device_get(jax.jit(opponents.redraw)(before, key(1), ended))
    kept = ~ended
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old[kept], new[kept])
        assert (old[ended] != new[ended]).any()


# -- whose action is played ----------------------------------------------------------------------------------------


@jax.jit
def boards_of_sticks(left: Any) -> tuple[Any, jax.Array]:
    """Boards with `left` sticks each and seat 0 to move, and the masks of their legal actions."""
    boards = jax.vmap(STICKS.at, in_axes=(0, None))(left, 0)
    return boards, jax.vmap(STICKS.legal_action_mask)(boards)


@pytest.mark.parametrize("batch", [30, MIN_ROWS_FOR_TILES + 72])
def test_every_board_gets_the_action_of_its_own_opponent(batch: int) -> None:
    """Agents of one kind are computed together, in tiles for a large batch; others on their own."""
    opponents = Opponents(STICKS, ("a", "b", Pool(10, size=3), "c"), ())
    prefers = Preferring(STICKS, jnp.array([0.0, 1.0, 2.0]))
    members = (Taker(jnp.int32(3)), prefers, Taker(jnp.array([1, 2, 3])), Taker(jnp.int32(2)))
    players = opponents.players(members)
    assert len(players.stacks) == 2
    opponent, left = np.random.default_rng(0).integers([[0], [1]], [[6], [8]], (2, batch), np.int32)
    found = replies(players, opponent, *boards_of_sticks(left))
    wanted = np.array([3, 3, 1, 2, 3, 2])[opponent]  # `prefers` takes as many as it can
    np.testing.assert_array_equal(found, np.minimum(wanted, left) - 1)


def test_epsilon_replaces_that_share_of_the_moves_by_random_legal_ones() -> None:
    players = Opponents(STICKS, ("a",), ()).players((Taker(jnp.int32(1)),))
    given = jnp.zeros(30_000, jnp.int32), *boards_of_sticks(np.full(30_000, 2, np.int32))
    for epsilon, expected in ((0.0, [1, 0, 0]), (0.5, [0.75, 0.25, 0]), (1.0, [0.5, 0.5, 0])):
        np.testing.assert_allclose(
            np.bincount(replies(players, *given, epsilon), minlength=3) / 30_000, expected, atol=0.015
        )


def test_policies_of_one_network_and_of_a_file_play_as_each_does_alone(untrained: Runs, tmp_path: Path) -> None:
    """Greedy, so that their moves need no random numbers. Runs of one network share a program: arrays are arguments."""
    run, other, file = untrained.first, untrained.second, tmp_path / "first.policy"
    run_command(export.main, run, "--output", file, "--platforms", "cpu")
    learner = PPO(config_of(f"{run}(temperature=0)", f"{other}(temperature=0)", f"exported({file}, temperature=0)"))
    start: Any = jax.eval_shape(learner.init, key(0))
    members = learner.load(start).opponents.agents
    players, env = learner.opponents.players(members), learner.env
    assert len(players.stacks) == 2

    @jax.jit
    def after_one_edge(edges: np.ndarray) -> tuple[Any, jax.Array]:
        boards = jax.vmap(lambda edge: env.step(env.init(), edge))(edges)
        return boards, jax.vmap(env.legal_action_mask)(boards)

    number = np.arange(160)
    boards, mask = after_one_edge(number % env.num_actions)
    found = replies(players, number % 3, boards, mask)
    act = jax.jit(lambda agent: agent.act(key(1), boards))
    alone = np.stack([act(agent) for agent in members])
    assert (alone[0] != alone[1]).any()
    np.testing.assert_array_equal(alone[2], alone[0])
    np.testing.assert_array_equal(found, alone[number % 3, number])


# -- pools of the past ---------------------------------------------------------------------------------------------


def test_pool_holds_the_last_snapshots_and_before_that_the_first_parameters() -> None:
    opponents = Opponents(STICKS, ("random", Pool(every=2, size=3)), ())
    state = jax.jit(lambda key: opponents.init(key, 4, lambda temperature: Taker(jnp.int32(100))))(key(0))
    assert isinstance(state.agents[0], RandomAgent)
    grown = jax.jit(lambda state, iteration: opponents.with_snapshot(state, iteration, lambda _: Taker(iteration)))
    held: list[list[int]] = []
    for iteration in range(1, 10):
        state = grown(state, jnp.int32(iteration))
        held.append(state.agents[1].sticks.tolist())  # pyright: ignore[reportAttributeAccessIssue]  # a Taker
    assert held[0] == [100, 100, 100]
    assert held[1] == held[2] == [2, 100, 100]
    assert held[5] == [2, 4, 6]
    assert held[7] == held[8] == [8, 4, 6]


def test_new_run_fills_the_pool_with_its_own_parameters(untrained: Runs) -> None:
    """Also where they come from another run."""
    learner = PPO(config_of("self@every=4(size=2)", init_from=str(untrained.first)))
    state = learner.load(jax.eval_shape(learner.init, key(5)))
    pool: Any = state.opponents.agents[0]
    twice = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), state.params)
    jax.tree.map(np.testing.assert_array_equal, pool.params, twice)
