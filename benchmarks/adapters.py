"""Random play through each adapter to another library, for `benchmarks.peers adapters`.

Every adapter chooses uniformly among the legal actions, and asks for the mover's observation and mask at every step, as
its library does.
"""

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from benchmarks import loops
from jaxgames.games.checkers import Checkers
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.host import host

Play = Callable[[], int]  # plays for a while and returns the number of steps
STEPS_PER_CALL = 200  # of a `Play` on one board
VECTOR_STEPS_PER_CALL = 20  # of each board of a `Play` on many
PUBLISHED = "published environment"


def make_play(name: str, env: jaxgames.Env[Any], boards: int, folder: str) -> Play:
    """Returns the loop of an adapter, the env's own loop for "jaxgames", or that of the environment in `folder`.

    Raises ValueError for a game that an adapter cannot play, ImportError where its library is missing.
    """
    if name == PUBLISHED:
        return play_published(env, Path(folder))
    if name == "jaxgames":
        return loops.rollout(jaxgames.auto_reset(env), boards, loops.MIN_STEPS_PER_CALL)
    return ADAPTERS[name](env, boards)


# -- the adapters: each function returns a `Play` --------------------------------------------------------------------


def play_host(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play on `jaxgames.host`, with an observation at every step."""
    board, choose = host(env), random_choice()
    state, info = board.init()

    def play() -> int:
        nonlocal state, info
        for _ in range(STEPS_PER_CALL):
            if info.over:
                state, info = board.init()
            board.observe(state)
            state, info = board.step(state, choose(info.mask))
        return STEPS_PER_CALL

    return play


def play_pettingzoo(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play through `jaxgames.interop.pettingzoo.aec_env`."""
    from jaxgames.interop.pettingzoo import aec_env

    return play_aec(aec_env(env))


def play_aec(env: Any) -> Play:
    """Random play of any environment of PettingZoo; the steps of agents whose game is over are not counted."""
    choose = random_choice()
    env.reset(seed=0)

    def play() -> int:
        steps = 0
        while steps < STEPS_PER_CALL:
            if not env.agents:
                env.reset()
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else choose(observation["action_mask"]))
            steps += not over
        return steps

    return play


def play_gymnasium(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play of one seat on `jaxgames.interop.gymnasium.SeatEnv`."""
    from jaxgames.interop.gymnasium import SeatEnv

    seat, choose = SeatEnv(env), random_choice()
    _, info = seat.reset(seed=0)

    def play() -> int:
        nonlocal info
        for _ in range(STEPS_PER_CALL):
            _, _, terminated, truncated, info = seat.step(choose(info["action_mask"]))
            if terminated or truncated:
                _, info = seat.reset()
        return STEPS_PER_CALL

    return play


def play_gymnasium_vector(env: jaxgames.Env[Any], boards: int, output: Any) -> Play:
    """Random play of one seat on the boards of `SeatVectorEnv`; with output="jax" nothing leaves the device."""
    from jaxgames.interop.gymnasium import SeatVectorEnv

    seats = SeatVectorEnv(env, boards, output=output)
    rng, key = np.random.default_rng(0), jax.random.key(0)
    on_device = jax.jit(lambda key, mask: jax.vmap(jaxgames.random_action)(jax.random.split(key, boards), mask > 0))
    _, infos = seats.reset(seed=0)

    def play() -> int:
        nonlocal infos, key
        for _ in range(VECTOR_STEPS_PER_CALL):
            mask = infos["action_mask"]
            if output == "jax":
                key, subkey = jax.random.split(key)
                actions = on_device(subkey, mask)
            else:
                actions = (mask * rng.random(mask.shape, np.float32)).argmax(-1)
            infos = seats.step(actions)[-1]
        jax.block_until_ready(infos)
        return VECTOR_STEPS_PER_CALL * boards

    return play


def play_gymnax(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play of one seat on many boards of `jaxgames.interop.gymnax.SeatEnv`, in one `jax.lax.scan`."""
    from jaxgames.interop.gymnax import SeatEnv

    seat = SeatEnv(env)
    params = seat.default_params

    def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        action_key, step_key = jax.random.split(key)
        action = jaxgames.random_action(action_key, seat.action_mask(state))
        observation, state, reward, *_ = seat.step(step_key, state, action, params)
        return state, reward + observation.sum()

    return play_scan(step, lambda key: seat.reset(key, params)[1], boards)


def play_jaxmarl(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play of many boards through `jaxgames.interop.jaxmarl.JaxMARLEnv`, with all agents' observations."""
    from jaxgames.interop.jaxmarl import JaxMARLEnv

    adapted = JaxMARLEnv(env)

    def step(state: Any, key: jax.Array) -> tuple[Any, Any]:
        action_key, step_key = jax.random.split(key)
        masks = jnp.stack([*adapted.get_avail_actions(state).values()])
        action = jaxgames.random_action(action_key, masks[state.board.current_player] > 0)
        joint = dict.fromkeys(adapted.agents, action)  # only the mover's counts
        observations, state, rewards, _, _ = adapted.step(step_key, state, joint)
        return state, sum(leaf.sum() for leaf in jax.tree.leaves((observations, rewards)))

    return play_scan(step, lambda key: adapted.reset(key)[1], boards)


def play_scan(step: Callable[..., Any], init: Callable[[jax.Array], Any], boards: int) -> Play:
    """Returns a loop in one program: `step(state, key)` returns the next state, and a number that depends on it all."""

    @jax.jit
    def steps(key: jax.Array, states: Any) -> Any:
        def body(states: Any, key: jax.Array) -> Any:
            return jax.vmap(step)(states, jax.random.split(key, boards))

        states, seen = jax.lax.scan(body, states, jax.random.split(key, VECTOR_STEPS_PER_CALL))
        return states, seen.sum()

    key = jax.random.key(0)
    states = jax.vmap(init)(jax.random.split(key, boards))

    def play() -> int:
        nonlocal key, states
        key, subkey = jax.random.split(key)
        states, _ = jax.block_until_ready(steps(subkey, states))
        return VECTOR_STEPS_PER_CALL * boards

    return play


def play_openspiel(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play of a game that `jaxgames.interop.openspiel` registered."""
    from jaxgames.interop.openspiel import registered_game

    return play_pyspiel(registered_game(env))


def play_openspiel_own(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play of OpenSpiel's own game, which is written in C++, in the same loop.

    Raises ValueError for a game or a board that OpenSpiel does not have.
    """
    import pyspiel

    parameters: dict[str, int] = {}
    if isinstance(env, DotsAndBoxes):
        parameters = {"num_rows": env.rows, "num_cols": env.cols}
    elif isinstance(env, ChineseCheckers) and env.size == 4:
        parameters = {"players": env.num_players}
    elif not isinstance(env, Checkers):
        raise ValueError("OpenSpiel's own games are checkers, dots_and_boxes and chinese_checkers(size=4)")
    return play_pyspiel(pyspiel.load_game(env.id, parameters))


def play_pyspiel(game: Any) -> Play:
    """Random play of any game of OpenSpiel, with the observation of the mover at every step."""
    rng = np.random.default_rng(0)
    state = game.new_initial_state()

    def play() -> int:
        nonlocal state
        for _ in range(STEPS_PER_CALL):
            if state.is_terminal():
                state = game.new_initial_state()
            state.observation_tensor(state.current_player())
            legal = state.legal_actions()
            state.apply_action(legal[int(rng.random() * len(legal))])
        return STEPS_PER_CALL

    return play


def play_pgx(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play of many boards through `jaxgames.interop.pgx.PgxEnv` and Pgx's `auto_reset`."""
    from jaxgames.interop.pgx import PgxEnv

    return loops.rollout(loops.PgxGame(PgxEnv(env), restarts=True), boards, loops.MIN_STEPS_PER_CALL)


ADAPTERS: dict[str, Callable[[jaxgames.Env[Any], int], Play]] = {  # (env, boards), which one board ignores
    "host": play_host,
    "pettingzoo": play_pettingzoo,
    "gymnasium": play_gymnasium,
    "gymnasium(vector)": functools.partial(play_gymnasium_vector, output="numpy"),
    "gymnasium(vector, output=jax)": functools.partial(play_gymnasium_vector, output="jax"),
    "gymnax": play_gymnax,
    "openspiel": play_openspiel,
    "openspiel_own": play_openspiel_own,
    "pgx": play_pgx,
    "jaxmarl": play_jaxmarl,
}


def random_choice() -> Callable[[np.ndarray], int]:
    """Returns a function that draws one of the legal actions of a mask."""
    rng = np.random.default_rng(0)

    def choose(mask: np.ndarray) -> int:
        legal = np.flatnonzero(mask)
        return int(legal[int(rng.random() * len(legal))])

    return choose


def play_published(env: jaxgames.Env[Any], folder: Path) -> Play:
    """Random play of the published environment in a checkout, on the board of `env`.

    Raises ValueError for another game than theirs, ImportError if it cannot be imported.
    """
    if not isinstance(env, ChineseCheckers) or env.num_players != 6:
        raise ValueError("the published environment is for chinese_checkers(num_players=6)")
    from pettingzoo import utils

    utils.__dict__["agent_selector"] = utils.AgentSelector  # its name in older versions
    sys.path.insert(0, str(folder))
    try:
        published = importlib.import_module("chinese_checkers.env.chinese_checkers_env")
    finally:
        sys.path.remove(str(folder))
    return play_aec(published.env(triangle_size=env.size, max_iters=env.max_rounds))
