"""Writes files of labelled positions, from which `train.imitation` learns.

    python -m train.data games.pdn more.pdn --external others.pdn --output pairs.npz
    python -m train.data --label "solver(33.npz)" --env "dots_and_boxes(rows=2, cols=2)" --output table.npz

The first command reads recorded games of checkers from .pdn files, or from .zip files that have some. Every game is
in one split, train, validation or test, by a hash of its moves. Games of --external that are not among the others are
the split external. The second one plays games, and an agent labels their positions with its probabilities and values.
A broken game is reported with its file, its line and the reason, and left out.

The last line on standard output is JSON: the games that were read, and those that were left out. Then it has the games
and positions of every split, and the number of positions that are not in the training set.
"""

import functools
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

import jaxgames
from jaxgames import Env, _files
from jaxgames.games.checkers import Checkers
from train import agents
from train.bounds import between, check_values
from train.data import game_collections, labels
from train.data.game_collections import EXTERNAL, FATES, Collection
from train.data.positions import Positions, keys
from train.driver.commands import Seed, run_command
from train.driver.tables import markdown

MAX_POSITIONS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Arguments:
    games: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Files with recorded games of checkers: .pdn, or .zip with .pdn files in it."""
    output: Path
    """The file for the positions, such as pairs.npz. It is replaced if it exists."""
    external: tuple[Path, ...] = ()
    """Files of another collection. Those of its games that are not in the first files are the split external."""
    env: str = "checkers"
    """The game, as `jaxgames.make` takes it. Recorded games are always of checkers."""
    train: Annotated[int, between(1, 100)] = 85
    """The share of the recorded games in the training set, in percent. Of played games, the share of the positions."""
    validation: Annotated[int, between(0, 99)] = 10
    """The share of the validation set, in percent. All other games are the test set."""
    label: str | None = None
    """An agent, such as "solver(33.npz)" or a run: it labels the positions of games that are played for this."""
    positions: Annotated[int, between(1, MAX_POSITIONS)] = 20_000
    """With --label, the number of different positions; fewer if the games have no more."""
    between: tuple[int, int] | None = None
    """With --label, the fewest and the most plies before a position, such as 20 36. None: positions of whole games."""
    play: str = "random"
    """With --label, the agent that plays the games."""
    only_values: bool = False
    """With --label, label with the agent's values alone, without its probabilities: the file is smaller."""
    seed: Seed = 0
    """With --label, the seed of the games."""

    def check(self) -> Env[Any]:
        """Returns the game. Raises ValueError for arguments that do not fit together."""
        check_values(vars(self), Arguments)
        if self.label is None and self.train + self.validation > 100:
            shares = f"{self.train} and {self.validation}"
            raise ValueError(f"train and validation must be together at most 100 percent, not {shares}")
        if bool(self.games) == (self.label is not None):
            raise ValueError("expected either files of games, or --label AGENT")
        if self.only_values and not self.label:
            raise ValueError("--only-values needs --label AGENT, which has probabilities to leave out")
        if self.between and not (self.label and 0 <= self.between[0] <= self.between[1]):
            shown = " ".join(map(str, self.between))
            raise ValueError(f"--between needs --label AGENT and two numbers in ascending order from 0, not {shown}")
        if self.external and not self.games:
            raise ValueError("--external needs games that are not external: write them before it")
        env = jaxgames.make(self.env)
        if self.games and not isinstance(env, Checkers):
            raise ValueError(f"files of games are of checkers, not of {env}")
        return env


def data(arguments: Arguments) -> dict[str, Any]:
    """Writes the file; returns the result that the command prints."""
    env = arguments.check()
    _files.check_output(arguments.output)
    if arguments.label is not None:
        positions, result = labelled_positions(arguments, env, arguments.label)
    else:
        assert isinstance(env, Checkers)
        positions, result = recorded_positions(arguments, env)
    positions.save(arguments.output)
    return {"env": str(env), "output": str(arguments.output), **result, "splits": counts(positions)}


def recorded_positions(arguments: Arguments, env: Checkers) -> tuple[Positions, dict[str, Any]]:
    """Returns the positions of the recorded games, and what was read and left out for the result."""
    own, others = game_collections.read_collections(arguments.games, arguments.external)
    for refusal in (*own.refused, *others.refused):
        print(refusal, file=sys.stderr)
    games = [*own.games, *others.games]
    if not games:
        files, refused = ", ".join(map(str, (*arguments.games, *arguments.external))), len(own.refused + others.refused)
        raise ValueError(
            f"{files} has no game that can be used, and {refused} were refused: "
            "expected games in PDN, such as 1. 11-15 22-18 2. 15x22 25x18 *"
        )
    splits = [game_collections.split_of(game, arguments.train, arguments.validation) for _, game in own.games]
    positions = game_collections.labelled(env, games, [*splits, *[EXTERNAL] * len(others.games)])
    return positions, {"games": summary(own), "external": summary(others)}


def labelled_positions(arguments: Arguments, env: Env[Any], label: str) -> tuple[Positions, dict[str, Any]]:
    """Returns positions of played games with an agent's labels, and who labelled and played for the result."""
    player, agent = agents.make(arguments.play, env), agents.make(label, env)
    positions = labels.played_positions(env, player, arguments.positions, arguments.seed, arguments.between)
    if arguments.between and not len(positions):
        shown = "{} to {}".format(*arguments.between)
        raise ValueError(f"no position was found after {shown} plies: choose smaller numbers with --between")
    positions = labels.labelled(positions, agent, arguments.train, arguments.only_values)
    return positions, {"label": label, "play": arguments.play}


def summary(collection: Collection) -> dict[str, Any]:
    """Returns the numbers of games of a collection, by what became of them."""
    fates = {fate: collection.counts[fate] for fate in FATES}
    return {"read": sum(fates.values()), **fates, "results": dict(Counter(game.result for _, game in collection.games))}


def counts(positions: Positions) -> dict[str, dict[str, int]]:
    """Returns by split the numbers of games and positions, and of positions that are not in the training set."""
    keys_of_positions = keys(positions)
    learned = np.unique(keys_of_positions[positions.split == 0])
    result: dict[str, dict[str, int]] = {}
    for number, name in enumerate(positions.splits):
        rows = positions.split == number
        result[name] = {
            "games": len(np.unique(positions.game[rows & (positions.game >= 0)])),
            "positions": int(rows.sum()),
            "unseen": int((~np.isin(keys_of_positions[rows], learned)).sum()),
        }
    return result


def table(result: Mapping[str, Any]) -> str:
    """Returns the result of `data` as text: what was read, and a row per split."""
    lines = [f"{result['output']}: positions of {result['env']}"]
    for name in ("games", "external"):
        if name in result and result[name]["read"]:
            numbers = result[name]
            parts = [f"{numbers[key]:,} {key.replace('_', ' ')}" for key in FATES if numbers[key]]
            lines.append(f"{name}: {numbers['read']:,} read; {', '.join(parts)}")
    splits = [(name, of_split.values()) for name, of_split in result["splits"].items() if of_split["positions"]]
    rows = [(name, *(f"{number:,}" if number else "" for number in numbers)) for name, numbers in splits]
    header = ("split", "games", "positions", "not in the training set")
    return "\n".join([*lines, "", markdown(header, rows, padded=True), ""])


main = functools.partial(run_command, "train.data", Arguments, data, text=table)

if __name__ == "__main__":
    main()
