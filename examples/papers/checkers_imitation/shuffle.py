"""Writes recorded positions in the splits of Larson 2016: pairs in a random order, in place of whole games.

    python -m examples.papers.checkers_imitation.shuffle pairs.npz shuffled.npz

85 % are to train, 10 % to validate, 5 % to test. Positions of one game, and equal positions, are then in several
splits. Positions of a second collection are left out. The last line on standard output is JSON.
"""

import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from train.data import positions
from train.data.positions import Positions
from train.driver.commands import run_command

SHARES = {"train": 0.85, "validation": 0.10, "test": 0.05}


@dataclass(frozen=True)
class Arguments:
    data: Annotated[Path, tyro.conf.Positional]
    """The file of positions, which `train.data` writes."""
    output: Annotated[Path, tyro.conf.Positional]
    """The file that is written."""
    seed: int = 0
    """Seed of the order."""


def write(arguments: Arguments) -> dict[str, Any]:
    """Returns the numbers of positions that were written, by split."""
    shuffled = shuffle_splits(positions.load(arguments.data), arguments.seed)
    shuffled.save(arguments.output)
    return {name: len(shuffled.of(name)) for name in shuffled.splits}


def shuffle_splits(data: Positions, seed: int) -> Positions:
    """Returns the positions of one collection with splits that are drawn pair by pair."""
    kept = data.take(data.split != data.splits.index("external")) if "external" in data.splits else data
    order, count = np.random.default_rng(seed).permutation(len(kept)), len(kept)
    split = np.empty(count, np.int8)
    ends = np.cumsum([round(share * count) for share in SHARES.values()])[:-1]
    split[order] = np.searchsorted(ends, np.arange(count), side="right")
    return dataclasses.replace(kept, split=split, splits=tuple(SHARES))


main = functools.partial(run_command, "examples.papers.checkers_imitation.shuffle", Arguments, write)

if __name__ == "__main__":
    main()
