"""Games of jaxgames as games of Pgx: Pgx's own test and `auto_reset` accept them; each rule of the adapter holds."""

import dataclasses
import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pytest
from pgx._src import api_test as pgx_test  # the function of the same name hides the module in `pgx`
from pgx.experimental import auto_reset

import jaxgames
from jaxgames.interop.pgx import PgxEnv, PgxState
from jaxgames.wrappers import seat_discount
from tests.helpers.positions import repeated, start
from tests.helpers.sticks import LuckySticks, Sticks
from tests.interop.adapters import GAMES

PLIES = 3
SHORT = f"chinese_checkers_diamond(size=3, pieces=1, max_plies={PLIES})"  # too few plies to win: all games are cut off
ENV, KEEP, SEATS = PgxEnv(SHORT), PgxEnv(SHORT, truncation="keep"), PgxEnv(Sticks())
LUCKY = PgxEnv(LuckySticks())


@functools.cache
def compiled_step(env: PgxEnv) -> Callable[..., PgxState]:
    """`step` without a key, compiled once in a process."""
    return jax.jit(lambda state, action: env.step(state, action))


@functools.cache
def new(env: PgxEnv) -> PgxState:
    """The start of a game."""
    return jax.jit(env.init)(jax.random.key(0))


@functools.cache
def finished(env: PgxEnv) -> PgxState:
    """The end of the game in which everybody plays the first legal action."""
    state = new(env)
    while not (state.terminated | state.truncated):
        state = step(env, state, first_legal(state))
    return state


def step(env: PgxEnv, state: PgxState, action: Any) -> PgxState:
    return compiled_step(env)(state, np.int32(action))


def first_legal(state: PgxState) -> int:
    return int(np.asarray(state.legal_action_mask).argmax())


# -- Pgx's own test --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "games", "use_key"),
    [(SHORT, 3, True), *(pytest.param(game, 10, False, marks=pytest.mark.slow) for game in GAMES)],
)
def test_pgx_accepts_a_game(game: str, games: int, use_key: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one board and of batches, with the id of the game in the closed list of Pgx's test.

    It has a random action for one mask as well as for a batch: Pgx 2.6 lacks it, also for its own games.
    """
    env = PgxEnv(game)

    def act(key: jax.Array, mask: jax.Array) -> jax.Array:
        return jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf), axis=-1)

    monkeypatch.setattr(pgx_test, "act_randomly", jax.jit(act))
    monkeypatch.setattr(pgx_test, "EnvId", Literal[env.id])
    pgx_test.api_test(env, games, use_key=use_key)


# -- the end of a game -----------------------------------------------------------------------------------------------


def test_finished_board_has_a_full_mask_does_not_change_and_pays_nothing() -> None:
    """Whatever the action; also at the end by the rules, where the last step paid."""
    for env in (ENV, KEEP, SEATS):
        end = finished(env)
        assert end.legal_action_mask.all()
        for action in (0, -1, env.num_actions):
            after = step(env, end, action)
            assert not after.rewards.any()
            same = jax.tree.map(np.array_equal, dataclasses.replace(end, rewards=after.rewards), after)
            assert all(jax.tree.leaves(same))
    assert finished(SEATS).rewards.any()
    marked = dataclasses.replace(new(ENV), terminated=np.bool_(True))  # as `auto_reset` of Pgx marks a new board
    assert step(ENV, marked, first_legal(marked)).board.ply == 0


def test_truncation_counts_as_termination_unless_it_is_kept() -> None:
    assert (finished(ENV).terminated, finished(ENV).truncated) == (True, False)
    assert (finished(KEEP).terminated, finished(KEEP).truncated) == (False, True)
    won = PgxEnv(Sticks(), truncation="keep").state_at(finished(SEATS).board)
    assert (won.terminated, won.truncated) == (True, False)


@pytest.mark.slow  # compiles another game
@pytest.mark.parametrize("env", [ENV, KEEP], ids=["terminate", "keep"])
def test_auto_reset_of_pgx_plays_one_game_after_the_other(env: PgxEnv) -> None:
    """The flags of a new board are those of the game before it, until the next step: the public flags decide."""
    restarting, state = jax.jit(auto_reset(env.step, env.init)), new(env)
    for ply in range(1, 3 * PLIES):
        state = restarting(state, np.int32(first_legal(state)), jax.random.key(ply))
        ended = ply % PLIES == 0
        assert (state.terminated, state.truncated) == (ended and env is ENV, ended and env is KEEP)
        assert state.board.ply == ply % PLIES
        assert not state.legal_action_mask.all()
        assert step(env, state, first_legal(state)).board.ply == (0 if ended else ply % PLIES + 1)


# -- players ---------------------------------------------------------------------------------------------------------


def test_player_id_that_moves_first_is_drawn_by_the_key() -> None:
    keys = jax.random.split(jax.random.key(0), 300)
    drawn, fixed = (jax.jit(jax.vmap(env.init))(keys) for env in (SEATS, PgxEnv(Sticks(), shuffle_players=False)))
    assert np.bincount(drawn.current_player).tolist() == pytest.approx([100] * 3, abs=30)
    assert not fixed.current_player.any()
    assert SEATS.state_at(Sticks().at(7, 1), 2).current_player == (2 + 1) % 3


def test_sign_of_a_step_is_read_from_the_public_fields() -> None:
    after = step(ENV, new(ENV), 1)
    assert seat_discount(new(ENV), after) == -1
    assert seat_discount(after, after) == 1
    assert seat_discount(after, finished(ENV)) == 0
    assert abs(seat_discount(after, finished(KEEP))) == 1  # cut off: the value of the last board counts


# -- names, pictures, errors -----------------------------------------------------------------------------------------


def test_env_states_its_sizes_and_is_equal_to_one_with_the_same_arguments() -> None:
    assert isinstance(ENV, pgx.Env)
    assert (ENV.id, ENV.version, ENV.num_players, ENV.num_actions) == ("chinese_checkers_diamond", "v0", 2, 81)
    assert ENV.observation_shape == (3, 3, 2) == new(ENV).observation.shape
    assert len({ENV, PgxEnv(jaxgames.make(SHORT)), KEEP, PgxEnv(SHORT, shuffle_players=False)}) == 3
    assert repr(KEEP).endswith("truncation='keep', shuffle_players=True)")


def test_pictures_are_those_of_jaxgames(tmp_path: Path) -> None:
    state = new(ENV)
    drawn = jaxgames.render.svg(ENV.unwrapped, state.board)
    assert state.to_svg() == drawn.svg
    assert state._repr_html_() == drawn._repr_html_()  # pyright: ignore[reportPrivateUsage]  # the protocol of notebooks
    dark = jaxgames.render.svg(ENV.unwrapped, state.board, theme="dark", width=600)
    assert state.to_svg(color_theme="dark", scale=1.5) == dark.svg
    batch = repeated(state, 3)
    batch.save_svg(tmp_path / "boards.svg")
    assert (tmp_path / "boards.svg").read_text() == jaxgames.render.svg(ENV.unwrapped, batch.board).svg


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ENV.init(None), ValueError, r"pass a key, such as jax.random.key\(0\)"),  # pyright: ignore
        (lambda: ENV.init(jax.random.split(jax.random.key(0), 2)), ValueError, "put jax.vmap around env.init"),
        (lambda: ENV.step(repeated(new(ENV), 2), 0), ValueError, "put jax.vmap around env.step"),
        (lambda: ENV.step(start(SEATS.unwrapped), 0), TypeError, r"not SticksState: begin with env.init\(key\)"),
        (lambda: LUCKY.step(LUCKY.init(jax.random.key(0)), 0), ValueError, "game of chance"),
        (lambda: ENV.observe(new(SEATS)), TypeError, "got one of sticks"),
        (lambda: ENV.observe(new(ENV), 2), ValueError, "player must be a seat from 0 to 1, not 2"),
        (lambda: ENV.step(new(ENV), jnp.float32(0)), TypeError, "action must be one integer"),
        (lambda: ENV.state_at(start(SEATS.unwrapped)), TypeError, "expected a state of chinese_checkers_diamond"),
    ],
)
def test_wrong_arguments_are_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_observation_of_a_player_id_gives_no_warning_of_pgx() -> None:
    with warnings.catch_warnings(action="error"):
        jax.eval_shape(lambda state: ENV.observe(state, 1), new(ENV))
