"""Plays runs against each other. Each run has the same number of seats; they are drawn for every game.

    python -m train.match runs/shared runs/shared_encoder runs/independent --games 1000

The last line on standard output is JSON: games, seats_each, draw_rate, truncated_rate, and for every run its wins,
win_rate, mean_turns and mean_reward. Uniformly random players take the remaining seats.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro
from tqdm import tqdm

from jaxgames import arena
from jaxgames.agents import RandomAgent
from train import agents
from train.driver.commands import check_games, print_result
from train.driver.metrics import rounded, to_floats


@dataclass(frozen=True)
class Arguments:
    run_dirs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """The folders of two or more runs on the same game."""
    games: int = 1000
    """Games to play."""
    seats_each: int | None = None
    """Seats per run. If not given: two if there are enough seats, else one."""
    temperature: float = 1.0
    """1 samples from the policies. With 0 they play greedily, and all games with the same seats are the same."""
    seed: int = 0


def main() -> None:
    """The command `python -m train.match`."""
    arguments = tyro.cli(Arguments, prog="python -m train.match", description="Play runs against each other.")
    print_result("train.match", lambda: match(arguments))


def match(arguments: Arguments) -> dict[str, Any]:
    """Returns the result that the command prints: shares of all games, and wins and averages of every run."""
    folders, num_runs = arguments.run_dirs, len(arguments.run_dirs)
    if num_runs < 2:
        raise ValueError(f"expected the folders of two or more runs, not {num_runs}")
    check_games(arguments.games, arguments.seed)
    runs = [agents.open_run(folder) for folder in folders]
    env = runs[0].learner.env
    for run, folder in zip(runs, folders, strict=True):
        if run.learner.env != env:
            raise ValueError(
                f"the runs must share a game: {folder} was trained on {run.learner.env}, {folders[0]} on {env}"
            )
    seats_each = seats_for(num_runs, env.num_players, arguments.seats_each)

    players = (*(agents.agent_of_run(run, temperature=arguments.temperature) for run in runs), RandomAgent(env))
    key, seats_key = jax.random.split(jax.random.key(arguments.seed))
    agent_of_seat = arena.equal_shares(seats_key, arguments.games, env.num_players, num_runs, seats_each)
    with tqdm(total=arguments.games, unit=" games", disable=None) as bar:
        games = arena.play(env, players, agent_of_seat, key, on_finished=bar.update)

    rows = [to_floats(arena.summary(env, games, agent_of_seat, number)) for number in range(num_runs)]
    won = arena.winners(env, games)
    return {
        "games": arguments.games,
        "seats_each": seats_each,
        **rounded({name: rows[0][name] for name in ("draw_rate", "truncated_rate")}),  # the same for every run
        "runs": [
            {
                "run": str(folder),
                "wins": int((won & (agent_of_seat == number)).sum()),
                **rounded({name: row[name] for name in ("win_rate", "mean_turns", "mean_reward")}),
            }
            for number, (folder, row) in enumerate(zip(folders, rows, strict=True))
        ],
    }


def seats_for(num_runs: int, num_players: int, seats_each: int | None) -> int:
    """Returns the seats per run; if None, two if they fit, else one. Raises ValueError if they do not fit."""
    most = num_players // num_runs
    if most < 1:
        raise ValueError(f"at most {num_players} runs fit on {num_players} seats, not {num_runs}")
    if seats_each is None:
        return min(2, most)
    if not 1 <= seats_each <= most:
        raise ValueError(f"{num_runs} runs on {num_players} seats: seats_each must be from 1 to {most}")
    return seats_each


if __name__ == "__main__":
    main()
