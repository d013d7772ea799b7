"""Plays the ladders of solved boards, on which perfect play has a rating too: `python -m train.baselines.ladders`.

Each ladder of LADDERS is stored in docs/results/ladder_NAME.json, from which `examples.papers.tables` makes its table.
A finished command is not run again: `train.baselines.recorded_commands`. The ladders of the boards with a baseline
agent are on the cards of these agents.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxgames.baselines.cards import Rating
from train.baselines.recipes import RUNS
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


DIAMOND = BOARDS["diamond_4_3"].commands("diamond_4_3", seed=0)
BOXES = BOARDS["boxes_3_3"].commands("boxes_3_3", seed=0)
LADDERS = {
    "diamond_solved": Ladder(
        env=BOARDS["diamond_4_3"].env,
        agents=(
            "greedy",
            "mcts(simulations=100)",
            "openspiel(simulations=100)",
            f"{RUNS}/diamond_4_3_0",
            f"{RUNS}/diamond_4_3_0(simulations=64)",
            f"solver({RUNS}/diamond_4_3.npz)",
        ),
        commands=(DIAMOND["solution"], DIAMOND[SELF_PLAY]),
    ),
    "boxes_solved": Ladder(
        env=BOARDS["boxes_3_3"].env,
        agents=(
            "greedy",
            "mcts(simulations=100)",
            "openspiel(simulations=100)",
            "alphabeta(milliseconds=1)",
            "alphabeta(milliseconds=200)",
            f"solver({RUNS}/boxes_3_3.npz)",
        ),
        commands=(BOXES["solution"],),
    ),
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
