"""Plays the ladders of solved boards, with perfect play, and of the stars, with their search.

    python -m train.baselines.ladders

Each ladder of LADDERS is stored in docs/results/ladder_NAME.json, from which `examples.papers.tables` makes its table.
A finished command is not run again: `train.baselines.recorded_commands`. The ladders of other boards are on the cards
of their baseline agents; those of the stars have agents that a card cannot have, because they are not in the package.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxgames.baselines.cards import Rating
from train.baselines.recipes import RUNS, STAR_2, STAR_3
from train.baselines.recorded_commands import RecordedCommands
from train.baselines.solved import BOARDS, SELF_PLAY
from train.baselines.stored_results import NamedResults, provenance, store
from train.baselines.tables import ratings_of
from train.driver.commands import run_command


@dataclass(frozen=True)
class Ladder:
    """The agents of a ladder, and the commands that make them."""

    env: str
    agents: tuple[str, ...]
    commands: tuple[str, ...]
    """Without `python -m`, in their order."""
    games: int = 100
    """Games of every pair."""

    def command(self, name: str) -> str:
        """Returns the command of the ladder."""
        agents = " ".join(f'"{agent}"' for agent in self.agents)
        return f'train.ladder "{self.env}" {agents} --games {self.games} --cost --output {RUNS}/ladder_{name}'


def of_board(name: str, *others: str) -> Ladder:
    """Returns the ladder of a solved board, with perfect play, the agent of self-play, searches and other agents."""
    texts, run = BOARDS[name].commands(name, seed=0), f"{RUNS}/{name}_0"
    return Ladder(
        env=BOARDS[name].env,
        agents=(
            "greedy",
            "mcts(simulations=100)",
            "openspiel(simulations=100)",
            *others,
            run,
            f"{run}(simulations=64)",
            f"solver({RUNS}/{name}.npz)",
        ),
        commands=(texts["solution"], texts[SELF_PLAY]),
    )


def of_star(env: str, race: str, learning: str, *others: str, commands: tuple[str, ...] = ()) -> Ladder:
    """Returns the ladder of a star, with the search `race` of the parameters and other agents."""
    searcher = f"examples.papers.parameter_sharing.turn_search:race({race})"
    learn = f"examples.papers.parameter_sharing.turn_search.learning {learning} --output runs/race"
    return Ladder(env, ("greedy", "baseline", searcher, *others), (learn, *commands), games=60)


LADDERS = {
    "diamond_solved": of_board("diamond_4_3"),
    "boxes_solved": of_board(
        "boxes_3_3",
        "alphabeta(milliseconds=1)",
        "alphabeta(milliseconds=200)",
        f"{RUNS}/boxes_3_3_0(simulations=64, search=puct)",
    ),
    "chinese_checkers_2": of_star(
        STAR_2,
        "runs/race/2.npz, candidates=4, samples=16, near=8.0, rounds=15",
        "--size 2 --games 60000",
        "greedy(epsilon=0.2)",
        "runs/demo",
        commands=("examples.demo",),
    ),
    "chinese_checkers_3": of_star(STAR_3, "runs/race/3.npz", "--size 3"),
    "chinese_checkers_4": of_star("chinese_checkers", "runs/race/4.npz", "--size 4 --games 6000"),
}


class Arguments(NamedResults):
    """The ladders, such as boxes_solved."""


def result_of(name: str, ladder: Ladder, records: RecordedCommands) -> dict[str, Any]:
    """Returns the ratings of a ladder with the commands that made them, and where they ran."""
    commands = [*ladder.commands, ladder.command(name)]
    finished = [records.run(text) for text in commands]
    result = finished[-1].result
    return {
        "env": result["env"],
        "commands": [f"python -m {text}" for text in commands],
        **provenance(record.cpu_seconds for record in finished),
        "seed": result["seed"],
        "games": result["games"],
        "agents": result["agents"],
        "cpu_ms": result["cpu_ms"],
    }


def ratings(path: Path) -> tuple[Rating, ...]:
    """Returns the ratings in a file of results, the highest first."""
    return ratings_of(json.loads(path.read_text(encoding="utf-8")))


play = functools.partial(store, "ladder", LADDERS, result_of)
main = functools.partial(run_command, "train.baselines.ladders", Arguments, play)

if __name__ == "__main__":
    main()
