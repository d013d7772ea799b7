"""Plays a run's policy against other players, thousands of games at once.

    python -m train.evaluate runs/first --opponents random --games 1000

The last line on standard output is JSON: games, win_rate, draw_rate, truncated_rate, mean_turns and mean_reward.
mean_turns is the mean number of turns of the trained seat, the last one included, in the games that it won.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro
from tqdm import tqdm

from jaxgames import arena
from train import agents
from train.driver.commands import check_games, print_result
from train.driver.metrics import rounded, to_floats


@dataclass(frozen=True)
class Arguments:
    run_dir: Annotated[Path, tyro.conf.Positional]
    """The folder of a run."""
    opponents: str = "random"
    """The agent on all other seats: "random" for uniformly random legal actions, or the folder of a run."""
    games: int = 1000
    """Games to play."""
    seat: int | None = None
    """The seat of the trained policy; drawn for each game if not given."""
    temperature: float | None = None
    """1 samples from the policy, 0 plays greedily. If not given, it is the run's own setting."""
    seed: int = 0


def main() -> None:
    """The command `python -m train.evaluate`."""
    arguments = tyro.cli(Arguments, prog="python -m train.evaluate", description="Evaluate a run against other agents.")
    print_result("train.evaluate", lambda: evaluate(arguments))


def evaluate(arguments: Arguments) -> dict[str, Any]:
    """Returns the result that the command prints: the number of games, and their `arena.summary` for the run."""
    check_games(arguments.games, arguments.seed)
    run = agents.open_run(arguments.run_dir)
    env = run.learner.env
    players = (agents.agent_of_run(run, temperature=arguments.temperature), agents.make(arguments.opponents, env))
    key, seat_key = jax.random.split(jax.random.key(arguments.seed))
    agent_of_seat = arena.one_seat(seat_key, arguments.games, env.num_players, arguments.seat)
    with tqdm(total=arguments.games, unit=" games", disable=None) as bar:
        games = arena.play(env, players, agent_of_seat, key, on_finished=bar.update)
    return {"games": arguments.games, **rounded(to_floats(arena.summary(env, games, agent_of_seat)))}


if __name__ == "__main__":
    main()
