"""Steps per second of random play through each adapter to another library, beside the env's own loop.

    python -m benchmarks.adapters
    python -m benchmarks.adapters --games checkers --adapters host pettingzoo

Every side chooses uniformly among the legal actions, and asks for the mover's observation and mask at every step, as
its library does. A step is one ply on one board. In `gymnasium` and `gymnax` it is one ply of the agent's seat and the
plies of its random opponents that follow: about one ply per seat. The sides take turns, so other work on the machine
slows all of them. The first row, `jaxgames`, is the env's own loop of benchmarks/loops.py: many boards on
one device.

    steps/s            median over the rounds, with the spread
    steps/CPU s        the same per second of processor time, which also holds on a busy machine
    native is faster   the speed of `jaxgames` divided by the speed of the row, median over the rounds

    python -m benchmarks.adapters --no-async-dispatch

makes JAX run a program in the thread that calls it. Otherwise the call waits for another thread. With one board the
waiting takes longer than the program.

    python -m benchmarks.adapters --published FOLDER

also measures the star environment that Gu and Adhikari published, in games with 6 seats. FOLDER is a checkout of
github.com/noahadhikari/pettingzoo-chinese-checkers, which needs pygame and matplotlib.
"""

import functools
import importlib
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jaxgames
from benchmarks import harness, loops
from benchmarks.harness import Command
from benchmarks.peer_process import Turn, take_turn
from jaxgames.games.checkers import Checkers
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.host import host
from train.driver.machine import stamp

Play = Callable[[], int]  # plays for a while and returns the number of steps
MakePlay = Callable[[jaxgames.Env[Any], int], Play]  # (env, boards); an adapter of one board ignores the second
STEPS_PER_CALL = 200  # of a `Play` on one board
VECTOR_STEPS_PER_CALL = 20  # of each board of a `Play` on many
NATIVE, PUBLISHED = "jaxgames", "published environment"


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

    def step(key: jax.Array, state: Any, params: Any) -> tuple[Any, jax.Array]:
        action_key, step_key = jax.random.split(key)
        action = jaxgames.random_action(action_key, seat.action_mask(state))
        observation, state, reward, *_ = seat.step(step_key, state, action, params)
        return state, reward + observation.sum()

    @jax.jit
    def steps(key: jax.Array, states: Any, params: Any) -> Any:
        def body(states: Any, key: jax.Array) -> Any:
            return jax.vmap(step, in_axes=(0, 0, None))(jax.random.split(key, boards), states, params)

        states, seen = jax.lax.scan(body, states, jax.random.split(key, VECTOR_STEPS_PER_CALL))
        return states, seen.sum()

    params = seat.default_params
    key = jax.random.key(0)
    _, states = jax.vmap(seat.reset, in_axes=(0, None))(jax.random.split(key, boards), params)

    def play() -> int:
        nonlocal key, states
        key, subkey = jax.random.split(key)
        states, _ = jax.block_until_ready(steps(subkey, states, params))
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


def play_jaxmarl(env: jaxgames.Env[Any], boards: int) -> Play:
    """Random play of many boards through `jaxgames.interop.jaxmarl.JaxMARLEnv`, with all agents' observations."""
    from jaxgames.interop.jaxmarl import JaxMARLEnv

    return loops.rollout(loops.PlayingJaxMARL(JaxMARLEnv(env)), boards, loops.MIN_STEPS_PER_CALL)


ADAPTERS: dict[str, MakePlay] = {
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


def play_published(env: jaxgames.Env[Any], boards: int, folder: Path) -> Play:
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


# -- the command -----------------------------------------------------------------------------------------------------


TABLE = {
    "steps/s": "{speed}",
    "steps/CPU s": "{steps_per_cpu_second:,.0f}",
    "native is faster": "{native_is_faster:,.1f}",
}


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    games: tuple[str, ...] = ("chinese_checkers(size=2, num_players=6)", "checkers", "dots_and_boxes")
    """Games, with their parameters."""
    adapters: tuple[str, ...] = tuple(ADAPTERS)
    """Adapters to measure."""
    boards: int = 1024
    """Boards of the env's own loop, and of adapters that play many at once."""
    rounds: int = 5
    """Turns of each side."""
    seconds: float = 2.0
    """Length of a turn."""
    async_dispatch: bool = True
    """JAX's default: programs for a CPU run in another thread. False runs them in the thread that calls them."""
    published: Path | None = None
    """A checkout of the published environment."""


def measure_adapters(arguments: Arguments) -> dict[str, Any]:
    """Returns the rows of every game, and logs them as tables."""
    harness.check_among("adapters", arguments.adapters, ADAPTERS)
    harness.check_positive(arguments, "boards", "rounds")
    if arguments.seconds < 0:
        raise ValueError(f"seconds must not be negative, not {arguments.seconds}")
    if arguments.published and not arguments.published.is_dir():
        raise ValueError(f"published must be a folder, not {str(arguments.published)!r}")
    jax.config.update("jax_cpu_enable_async_dispatch", arguments.async_dispatch)  # has an effect before JAX starts
    envs = [jaxgames.make(game) for game in arguments.games]
    games: list[dict[str, Any]] = []
    for env in envs:
        rows = measure_game(env, arguments)
        games.append({"game": str(env), "rows": rows})
        harness.log(harness.table({str(env): "{adapter}"} | TABLE, map(with_speed, rows)))
    settings = {name: getattr(arguments, name) for name in ("boards", "rounds", "seconds", "async_dispatch")}
    return {"games": games, **settings, **stamp()}


def measure_game(env: jaxgames.Env[Any], arguments: Arguments) -> list[dict[str, Any]]:
    """Returns a row for the env's own loop and for each adapter; one that cannot play has the reason in `error`."""
    makers: dict[str, MakePlay] = {NATIVE: play_natively} | {name: ADAPTERS[name] for name in arguments.adapters}
    if arguments.published:
        makers[PUBLISHED] = functools.partial(play_published, folder=arguments.published)
    plays: dict[str, Play] = {}
    errors: dict[str, str] = {}
    for name, make_play in makers.items():
        try:
            plays[name] = make_play(env, arguments.boards)
            plays[name]()  # compiles
        except (ImportError, ValueError) as error:
            errors[name] = str(error)
    turns: dict[str, list[Turn]] = {name: [] for name in plays}
    progress = harness.Progress(arguments.rounds * len(plays), "turn")
    for _ in range(arguments.rounds):
        for name, play in plays.items():
            turns[name].append(take_turn(play, arguments.seconds))
            progress.finish(f"{env.id}, {name}: {turns[name][-1].per_second:,.0f} steps/s")
    return [
        {"adapter": name, "error": errors[name]} if name in errors else row(name, turns[name], turns[NATIVE])
        for name in makers
    ]


def play_natively(env: jaxgames.Env[Any], boards: int) -> Play:
    return loops.rollout(jaxgames.auto_reset(env), boards, loops.MIN_STEPS_PER_CALL)


def row(name: str, turns: list[Turn], native: list[Turn]) -> dict[str, Any]:
    speed, spread = harness.median_and_spread([turn.per_second for turn in turns])
    ratios = [own.per_second / turn.per_second for own, turn in zip(native, turns, strict=True)]
    return {
        "adapter": name,
        "steps_per_second": speed,
        "spread": spread,
        "steps_per_cpu_second": statistics.median(turn.per_cpu_second for turn in turns),
        "native_is_faster": statistics.median(ratios),
    }


def with_speed(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with its speed, or its error, as text."""
    text = row["error"].splitlines()[0] if "error" in row else harness.SPEED.format_map(row)
    return row | {"speed": text}


COMMANDS = (Command("adapters", Arguments, measure_adapters),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
