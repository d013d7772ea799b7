"""Collections of recorded games as labelled positions: files are read, duplicates left out, games put into splits.

A collection is a .pdn file, or a .zip with such files. The split of a game depends only on its moves: SHA-256 of
`PdnGame.text` in UTF-8, the first eight hexadecimal digits as a number modulo 100. So all positions of a game are in
one split, a duplicate cannot be in another one, and other collections do not change it.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.pdn import REWARDS, BrokenGame, PdnGame, decode, read
from train.data.positions import Positions
from train.data.replay import states_before

SPLITS = ("train", "validation", "test", "external")
EXTERNAL = SPLITS.index("external")
BUCKETS = 100  # of the hash


@dataclass
class Collection:
    """The games of some files, and those that were left out."""

    games: list["NumberedGame"] = field(default_factory=list["NumberedGame"])  # distinct, in their order
    read: int = 0  # all games, also those that were left out
    duplicates: int = 0  # games with the moves of an earlier one
    without_moves: int = 0
    refused: list[str] = field(default_factory=list[str])  # file, line and reason of each game that cannot be read


class NumberedGame(NamedTuple):
    """A game, and its number in the order in which games were read, from 0."""

    number: int
    game: PdnGame


def read_collection(
    paths: Iterable[Path],
    known: Iterable[PdnGame] = (),
    first_number: int = 0,
    on_read: Callable[[int], object] = lambda _: None,
) -> Collection:
    """Returns the distinct games of files.

    Args:
      paths: .pdn files, or .zip files with such files.
      known: games of other collections; a game with the moves of one of them is a duplicate too.
      first_number: the number of the first game.
      on_read: is called after every game with the number of games that were read since the last call.

    Raises OSError for a file that cannot be read, ValueError for a .zip that cannot be unpacked.
    """
    collection = Collection()
    texts = {game.text for game in known}
    for path in paths:
        for name, content in _contents(path):
            for game in read(decode(content)):
                number = first_number + collection.read
                collection.read += 1
                on_read(1)
                if isinstance(game, BrokenGame):
                    collection.refused.append(f"{name}:{game.line}: {game.reason}")
                elif not game.actions:
                    collection.without_moves += 1
                elif game.text in texts:
                    collection.duplicates += 1
                else:
                    texts.add(game.text)
                    collection.games.append(NumberedGame(number, game))
    return collection


def split_of(game: PdnGame, train: int = 85, validation: int = 10) -> int:
    """Returns the index in SPLITS of the split of a game; equal moves give equal splits.

    `train` and `validation` are shares in percent. All other games are the test set.
    """
    bucket = int(hashlib.sha256(game.text.encode()).hexdigest()[:8], 16) % BUCKETS
    return int(bucket >= train) + int(bucket >= train + validation)


def labelled(
    env: Checkers,
    games: Sequence[NumberedGame],
    splits: Sequence[int],
    on_replayed: Callable[[int], object] | None = None,
) -> Positions:
    """Returns the positions of games, with the action that was played on each, and the result for its mover.

    Args:
      splits: the index in SPLITS of each game.
      on_replayed: see `states_before`.

    Raises ValueError for an action that is illegal in `env`.
    """
    states = states_before(env, [game for _, game in games], on_replayed=on_replayed)
    lengths = [len(game.actions) for _, game in games]
    rewards = np.array([REWARDS.get(game.result, (np.nan, np.nan)) for _, game in games], np.float32).reshape(-1, 2)
    return Positions(
        env=env,
        states=states,
        action=np.array([action for _, game in games for action in game.actions], np.int32),
        value=np.repeat(rewards, lengths, axis=0)[np.arange(sum(lengths)), states.current_player],
        probabilities=None,
        game=np.repeat(np.array([number for number, _ in games], np.int32), lengths),
        ply=np.array([ply for length in lengths for ply in range(length)], np.int32),
        split=np.repeat(np.array(splits, np.int8), lengths),
        splits=SPLITS,
    )


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the name and the content of a file, or of every .pdn file in a .zip. Raises as `read_collection`."""
    if path.suffix.lower() != ".zip" and not zipfile.is_zipfile(path):
        yield str(path), path.read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                is_of_macos = name.startswith("__MACOSX/") or "/._" in f"/{name}"  # attributes of another file
                if name.lower().endswith(".pdn") and not is_of_macos:
                    yield f"{path}/{name}", archive.read(name)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # damaged, or has a password
        raise ValueError(f"{path} cannot be unpacked ({error}): unpack it, and give its .pdn files") from error
