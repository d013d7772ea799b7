"""Plays runs against each other: each pilots the same number of seats, at random places in every game.

    python -m train.match runs/shared runs/shared_encoder runs/independent --games 1000

The last line on standard output is JSON: games, seats_each, draw_rate, truncated_rate, and for every run its wins,
win_rate, mean_turns and mean_reward. Seats that no run pilots are played by uniformly random players.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro

from train import evaluate, play
from train.driver.metrics import rounded, to_floats
from train.driver.run_folder import RunFolder
from train.ppo import PPO


@dataclass(frozen=True)
class Arguments:
    run_dirs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """The folders of two or more runs of train.ppo on the same game."""
    games: int = 1000
    seats_each: int | None = None
    """Seats of each run; two where they fit, else one, if not given."""
    temperature: float = 1.0
    """1 draws from the policies; with 0, their likeliest actions, all games with the same seats are alike."""
    seed: int = 0


def main() -> None:
    """The command `python -m train.match`."""
    arguments = tyro.cli(Arguments, prog="python -m train.match", description="Play runs against each other.")
    try:
        result = match(arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"train.match: {error}")
    print(json.dumps(result))


def match(arguments: Arguments) -> dict[str, Any]:
    """The result as the command prints it."""
    runs = [RunFolder.open(folder, PPO) for folder in arguments.run_dirs]
    learners = [run.learner for run in runs]
    if len(runs) < 2:
        raise ValueError(f"expected the folders of two or more runs, not {len(runs)}")
    evaluate.check(arguments.games, arguments.temperature)
    env = learners[0].env
    for learner, folder in zip(learners, arguments.run_dirs, strict=True):
        if learner.env != env:
            raise ValueError(f"the runs must share a game: {folder} plays {learner.env}, {arguments.run_dirs[0]} {env}")
    fitting = env.num_players // len(runs)
    if fitting < 1:
        raise ValueError(f"at most {env.num_players} runs fit on the seats of {env}, not {len(runs)}")
    seats_each = arguments.seats_each if arguments.seats_each is not None else min(2, fitting)
    if not 1 <= seats_each <= fitting:
        raise ValueError(f"{len(runs)} runs on {env.num_players} seats: seats_each must be from 1 to {fitting}")

    key, places_key = jax.random.split(jax.random.key(arguments.seed))
    pilots = places(places_key, arguments.games, env.num_players, len(runs), seats_each)
    games = evaluate.watch(
        env,
        tuple(learner.policy for learner in learners),
        [run.params() for run in runs],
        pilots,
        key,
        arguments.temperature,
    )
    return {
        "games": arguments.games,
        "seats_each": seats_each,
        **rounded({"draw_rate": float(games.drawn.mean()), "truncated_rate": float(games.boards.truncated.mean())}),
        "runs": [standing(games, pilots, number, str(folder)) for number, folder in enumerate(arguments.run_dirs)],
    }


def places(key: jax.Array, num_games: int, num_players: int, num_runs: int, seats_each: int) -> jax.Array:
    """int32[games, num_players], the run that pilots a seat, shuffled in every game; RANDOM where none does."""
    seat = jnp.arange(num_players)
    pilots = jnp.where(seat < num_runs * seats_each, seat // seats_each, play.RANDOM)
    return jax.vmap(lambda key: jax.random.permutation(key, pilots))(jax.random.split(key, num_games))


def standing(games: play.Games, pilots: jax.Array, number: int, name: str) -> dict[str, Any]:
    """How one run did."""
    wins = int((games.won & (pilots == number)).sum())
    numbers = to_floats(play.summary(games, pilots, number))
    del numbers["draw_rate"], numbers["truncated_rate"]  # the games', not the run's
    return {"run": name, "wins": wins, **rounded(numbers)}


if __name__ == "__main__":
    main()
