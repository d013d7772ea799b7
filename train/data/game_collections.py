"""Recorded games of checkers as labelled positions: files are read, duplicates left out, games put into splits.

A collection is a .pdn file, or a .zip with such files. The split of a game depends only on its moves: SHA-256 of
`PdnGame.text` in UTF-8, the first eight hexadecimal digits as a number modulo 100. So all positions of a game are in
one split, a duplicate cannot be in another one, and other collections do not change it.
"""

import dataclasses
import functools
import hashlib
import itertools
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._progress import Progress
from jaxgames.games.checkers.pdn import REWARDS, BrokenGame, PdnGame, decode, read
from jaxgames.games.checkers.rules import EARLIEST_END, Checkers, CheckersState
from train.data.positions import Positions

SPLITS = ("train", "validation", "test", "external")
EXTERNAL = SPLITS.index("external")
BUCKETS = 100  # of the hash
BATCH = 4096  # games that are replayed at once
PLIES = 64  # the length of a batch of games is rounded up to a multiple
NO_ACTION = -1  # after the end of a game


@dataclass
class Collection:
    """The games of some files, and those that were left out."""

    games: list["NumberedGame"] = field(default_factory=list["NumberedGame"])  # distinct, in their order
    refused: list[str] = field(default_factory=list[str])  # file, line and reason of each game that cannot be read
    counts: Counter[str] = field(default_factory=Counter[str])  # of all that were read, by FATES


FATES = ("kept", "duplicates", "without_moves", "refused")  # a duplicate has the moves of an earlier game


class NumberedGame(NamedTuple):
    """A game, and its number in the order in which games were read, from 0."""

    number: int
    game: PdnGame


def read_collections(*collections: Iterable[Path]) -> list[Collection]:
    """Returns the distinct games of collections: of .pdn files, or of .zip files with such files.

    A game with the moves of an earlier one, also of another collection, is a duplicate. Numbers go through all of them.

    Raises OSError for a file that cannot be read, ValueError for a .zip that cannot be unpacked.
    """
    found, texts, numbers = [Collection() for _ in collections], set[str](), itertools.count()
    with Progress(None, "games", "reading") as bar:
        for collection, paths in zip(found, collections, strict=True):
            for name, content in itertools.chain.from_iterable(map(_contents, paths)):
                for game, number in zip(read(decode(content)), numbers, strict=False):
                    bar.update()
                    if isinstance(game, BrokenGame):
                        fate = "refused"
                        collection.refused.append(f"{name}:{game.line}: {game.reason}")
                    elif not game.actions:
                        fate = "without_moves"
                    elif game.text in texts:
                        fate = "duplicates"
                    else:
                        fate = "kept"
                        texts.add(game.text)
                        collection.games.append(NumberedGame(number, game))
                    collection.counts[fate] += 1
    return found


def split_of(game: PdnGame, train: int = 85, validation: int = 10) -> int:
    """Returns the index in SPLITS of the split of a game; equal moves give equal splits.

    `train` and `validation` are shares in percent. All other games are the test set.
    """
    bucket = int(hashlib.sha256(game.text.encode()).hexdigest()[:8], 16) % BUCKETS
    return int(bucket >= train) + int(bucket >= train + validation)


def labelled(env: Checkers, games: Sequence[NumberedGame], splits: Sequence[int]) -> Positions:
    """Returns the positions of games, with the action that was played on each, and the result for its mover.

    `splits` has the index in SPLITS of each game. Raises ValueError for an action that is illegal in `env`.
    """
    states = states_before(env, [game for _, game in games])
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
    """Yields the name and the content of a file, or of every .pdn file in a .zip. Raises as `read_collections`."""
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


# -- the boards of games -------------------------------------------------------------------------------------------


def states_before(env: Checkers, games: Sequence[PdnGame]) -> CheckersState:
    """Returns the board before every action of some games, those of the first game first.

    No draw is declared in a recorded game before its players agree, so a game can be longer than `env.draw_rule`
    allows. The count of the draw rule then stays one below the least that can end a game, and all boards are live.

    Args:
      env: the game; it may have another draw rule than the players had.
      games: as `checkers_pdn.read` or `record` returns them.

    Returns:
      boards with a leading axis of all actions, on the host.

    Raises ValueError for a game with an action that is illegal in `env`.
    """
    lengths = np.array([len(game.actions) for game in games], np.int64)
    first = np.cumsum(lengths) - lengths  # the place of each game in the result
    found = jax.tree.map(lambda leaf: np.zeros((lengths.sum(), *leaf.shape), leaf.dtype), jax.eval_shape(env.init))
    boards = min(BATCH, 1 << max(0, len(games) - 1).bit_length())  # few sizes, so few programs
    order = np.argsort(-lengths, kind="stable")  # games of about equal length together
    with Progress(len(games), "games", "replaying", shown=len(games) > boards) as bar:
        for begin in range(0, len(games), boards):
            chosen = order[begin : begin + boards]
            longest = -(-lengths[chosen[0]] // PLIES) * PLIES  # few lengths, so few programs
            actions = np.full((longest, boards), NO_ACTION, np.int32)
            for column, i in enumerate(chosen):
                actions[: lengths[i], column] = games[i].actions
            starts = _starts(env, [games[i].start for i in chosen], boards)
            before, legal = jax.device_get(_replay(env, starts, actions))
            for ply, column in np.argwhere((actions != NO_ACTION) & ~legal)[:1]:
                game = games[int(chosen[column])]
                where = f"game {chosen[column]}" + (f", line {game.line}" if game.line else "")
                raise ValueError(f"{where}: action {actions[ply, column]} at ply {ply} is not legal in {env}")
            ply, column = np.nonzero(actions != NO_ACTION)
            for whole, part in zip(jax.tree.leaves(found), jax.tree.leaves(before), strict=True):
                whole[first[chosen[column]] + ply] = part[ply, column]
            bar.update(len(chosen))
    return found


def _starts(env: Checkers, texts: Sequence[str], boards: int) -> CheckersState:
    """Returns the boards at the start of games, and some more to fill the batch."""
    known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    states = jax.device_get([env.from_string(text) for text in known])
    numbers = np.array([known[text] for text in texts] + [0] * (boards - len(texts)))
    return jax.tree.map(lambda *leaves: np.asarray(leaves)[numbers], *states)


@functools.partial(jax.jit, static_argnums=0)
def _replay(env: Checkers, states: CheckersState, actions: jax.Array) -> tuple[CheckersState, jax.Array]:
    """Returns the boards before each of `actions` int32[plies, boards], and whether each is legal."""

    def play(state: CheckersState, action: jax.Array) -> tuple[CheckersState, tuple[CheckersState, jax.Array]]:
        is_legal = (action >= 0) & env.legal_action_mask(state)[action]
        quiet = jnp.minimum(state.quiet, EARLIEST_END[env.draw_rule] - 2)  # one more does not end the game
        return env.step(dataclasses.replace(state, quiet=quiet), action), (state, is_legal)

    return jax.lax.scan(jax.vmap(play), states, actions)[1]
