"""Plays a run's policy against random opponents, thousands of games at once.

    python -m train.evaluate runs/first --opponents random --games 1000

The last line on standard output is JSON: games, win_rate, draw_rate, truncated_rate, mean_turns (turns that the
trained seat took, the last one included, over the games it won), mean_reward.
"""

import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import tyro
from tqdm import tqdm

import jaxgames
from train import play
from train.driver.metrics import rounded, to_floats
from train.driver.run_folder import RunFolder
from train.models.policy import Params, Policy
from train.ppo import PPO


@dataclass(frozen=True)
class Arguments:
    run_dir: Annotated[Path, tyro.conf.Positional]
    """The folder of a run of train.ppo."""
    opponents: Literal["random"] = "random"
    """Who plays the other seats: uniformly random legal actions."""
    games: int = 1000
    seat: int | None = None
    """The seat of the trained policy; drawn for each game if not given."""
    temperature: float | None = None
    """1 draws from the policy, less sharpens it, 0 plays its likeliest action; the run's own setting if not given."""
    seed: int = 0


def main() -> None:
    """The command `python -m train.evaluate`."""
    arguments = tyro.cli(
        Arguments, prog="python -m train.evaluate", description="Evaluate a run against random players."
    )
    try:
        result = evaluate(arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"train.evaluate: {error}")
    print(json.dumps(result))


def evaluate(arguments: Arguments) -> dict[str, Any]:
    """The result as the command prints it."""
    run = RunFolder.open(arguments.run_dir, PPO)
    learner = run.learner
    env = learner.env
    temperature = run.config.temperature if arguments.temperature is None else arguments.temperature
    check(arguments.games, temperature)
    if arguments.seat is not None and not 0 <= arguments.seat < env.num_players:
        raise ValueError(f"seat must be from 0 to {env.num_players - 1}, not {arguments.seat}")
    key, seat_key = jax.random.split(jax.random.key(arguments.seed))
    pilots = play.one_seat(seat_key, arguments.games, env.num_players, arguments.seat)
    games = watch(env, (learner.policy,), [run.params()], pilots, key, temperature)
    return {"games": arguments.games, **rounded(to_floats(play.summary(games, pilots)))}


def check(games: int, temperature: float) -> None:
    if games < 1:
        raise ValueError(f"games must be positive, not {games}")
    if temperature < 0:
        raise ValueError(f"temperature must be 0 or more, not {temperature}")


def watch(
    env: jaxgames.Env[Any],
    policies: tuple[Policy, ...],
    params: list[Params],
    pilots: jax.Array,
    key: jax.Array,
    temperature: float,
) -> play.Games:
    """`train.play.play` to the end of every game, in slices of one compiled program, with a progress bar."""
    start_key, key = jax.random.split(key)
    num_games = pilots.shape[0]
    games = play.start(env, start_key, num_games)
    over = 0
    with tqdm(total=num_games, unit=" games", disable=None) as bar:
        while over < num_games:
            key, subkey = jax.random.split(key)
            games = _slice(env, policies, params, pilots, games, subkey, temperature)
            before, over = over, int(games.over.sum())
            bar.update(over - before)
    return games


@functools.partial(jax.jit, static_argnums=(0, 1, 6))
def _slice(
    env: jaxgames.Env[Any],
    policies: tuple[Policy, ...],
    params: list[Params],
    pilots: jax.Array,
    games: play.Games,
    key: jax.Array,
    temperature: float,
) -> play.Games:
    return play.play(env, policies, params, pilots, games, key, temperature=temperature, max_steps=100)


if __name__ == "__main__":
    main()
