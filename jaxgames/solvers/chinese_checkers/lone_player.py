"""The shortest game of a lone player on the star.

    python -m jaxgames.solvers.chinese_checkers.lone_player --size 3
    python -m jaxgames.solvers.chinese_checkers.lone_player --size 4 --quick --picture solo.svg

The player's pegs stand in their home on the empty star of `chinese_checkers`. Every turn follows the rules of the env:
one step, or a chain of hops of one peg. The game ends when the goal is full. Other seats have no pegs, so they pass.

Standard output has the game, one turn per line. Its last line is JSON: the turns of the game, the lower bound of the
turns of all games, the fewest turns without hops, the seconds of CPU time, and the game. With --quick the search for
size 4 ends at the first game that it finds, which can be longer than the lower bound.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import render
from jaxgames._checks import ParameterError, check_int
from jaxgames.agents import Agent
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers.rules import ChineseCheckers, ChineseCheckersState
from jaxgames.host import host
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.chinese_checkers.lone_player_search import Search, turns_from

MAX_SIZE = 4  # the numbers of positions of larger boards do not fit in 64 bits
WIDTH = 30_000  # positions per level of the searches for a first game
DOWN = (4, 5)  # directions towards the goal


@dataclass(frozen=True)
class SoloGame:
    """A game of a lone player."""

    size: int
    turns: tuple[tuple[int, ...], ...]  # the cells that a peg visits in each turn, from its origin to its target
    lower_bound: int  # the turns that every game takes at least

    @property
    def is_shortest(self) -> bool:
        """True if it is proved that no game is shorter."""
        return len(self.turns) == self.lower_bound

    def texts(self) -> list[str]:
        """Returns one text per turn, the submoves as `env.action_to_string` writes them, joined by spaces."""
        signs = ["->" if turn[1] in tables(self.size).neighbour[turn[0]] else "=>" for turn in self.turns]
        pairs = [(pairwise(turn), sign) for turn, sign in zip(self.turns, signs, strict=True)]
        return [" ".join(f"{cell}{sign}{to}" for cell, to in turn) for turn, sign in pairs]


class Replay(NamedTuple):
    """A game played in the env."""

    states: list[ChineseCheckersState]  # the start, and after every submove, passes of other seats included
    actions: list[int]  # one less than states


def shortest_solo(
    size: int,
    *,
    width: int = WIDTH,
    prove: bool = True,
    compiled: bool = HAS_NUMBA,
    progress: bool = True,
) -> SoloGame:
    """Returns a shortest game of a lone player, or a short one if `prove` is False.

    Args:
      size: N = 1..4. Size 4 takes minutes and needs numba, or hours without it; sizes 1 to 3 take seconds.
      width: positions per level that the search for a first game keeps.
      prove: whether to search for a shorter game after the first one. Sizes 1 to 3 need no such search.
      compiled: whether numba compiles the search, which takes seconds at the first call.
      progress: whether to show the progress on standard error.

    Raises ParameterError (a ValueError) for another size, and for a width with which no game is found.
    """
    check_int("size", size, 1, MAX_SIZE)
    check_int("width", width, 1, 10**9)
    search = Search(size, compiled=compiled, progress=progress)
    lower_bound = limit = search.lower_bound
    longest = len(shortest_without_hops(size).turns)
    result = search.run(limit, width)
    while result.positions is None:
        if limit >= longest:
            raise ParameterError(
                f"width must be larger for size {size}: with {width} positions per level no game of at most {longest} "
                "turns is found"
            )
        if result.is_complete and limit == lower_bound:
            lower_bound += 1
        limit += 1
        result = search.run(limit, width)
    positions = result.positions
    if prove and len(positions) - 1 > lower_bound:
        positions = search.run(len(positions) - 2).positions or positions
        lower_bound = len(positions) - 1
    paths = [dict(turns_from(size, position))[after] for position, after in pairwise(positions)]
    return SoloGame(size, tuple(map(tuple, paths)), lower_bound)


def shortest_without_hops(size: int) -> SoloGame:
    """Returns a shortest game without hops: one peg after the other goes down to the goal, the front ones first.

    A step changes the row of one peg by at most one. So no game without hops takes fewer turns than there are rows
    between the pegs of the home and the goal, 2N(N + 1)(2N + 1) / 3 in total. This game takes no more.

    Raises ParameterError (a ValueError) for a size that the game does not have.
    """
    t = tables(ChineseCheckers(size).size)
    last = len(t.row) - 1
    pegs = set(range(size * (size + 1) // 2))
    goal = {last - cell for cell in pegs}
    turns: list[tuple[int, int]] = []
    for origin in sorted(pegs, reverse=True):
        way = next(
            way for target in sorted(goal - pegs, reverse=True) if (way := _way_down(size, origin, target, pegs))
        )
        pegs = pegs - {origin} | {way[-1]}
        turns += pairwise(way)
    return SoloGame(size, tuple(turns), 2 * size * (size + 1) * (2 * size + 1) // 3)


def _way_down(size: int, origin: int, target: int, pegs: set[int]) -> list[int]:
    """Returns the cells of a way by steps down that avoids pegs; empty if there is none."""
    t = tables(size)
    ways = {origin: [origin]}
    for cell in (queue := [origin]):
        for to in t.neighbour[cell, DOWN].tolist():
            if to < len(t.row) and to not in pegs and to not in ways:
                ways[to] = [*ways[cell], to]
                queue.append(to)
    return ways.get(target, [])


# -- in the env --------------------------------------------------------------------------------------------------------


def solo_start(env: ChineseCheckers) -> ChineseCheckersState:
    """Returns the start of a game with the pegs of seat 0 alone."""
    rows, *rest = env.to_string(env.init(None)).split(" ")
    for seat in range(1, env.num_players):
        rows = rows.replace(str(seat), ".")
    return env.from_string(" ".join([rows, *rest]))


def replay(game: SoloGame, env: ChineseCheckers | None = None) -> Replay:
    """Returns a game played submove by submove in the env, by default with two seats.

    Raises ValueError for an illegal submove, and if the last submove does not win or an earlier one does.
    """
    env = ChineseCheckers(game.size, 2) if env is None else env
    states, actions = [solo_start(env)], list[int]()

    def play(text: str) -> None:
        action = env.action_from_string(states[-1], text)
        if not host(env).look(states[-1]).mask[action]:
            raise ValueError(f"{text} is not legal in {env.to_string(states[-1])}")
        actions.append(action)
        states.append(host(env).step(states[-1], action)[0])

    for turn in game.texts():
        for text in turn.split():
            play(text)
        while not states[-1].terminated and (states[-1].current_player != 0 or states[-1].peg >= 0):
            play("end")
    if not env.winners(states[-1])[0]:
        raise ValueError(f"the game of {len(game.turns)} turns does not fill the goal: {env.to_string(states[-1])}")
    return Replay(states, actions)


def turns_alone(env: ChineseCheckers, agent: Agent, games: int, seed: int = 0) -> np.ndarray:
    """Returns int[games], the turns that an agent on seat 0 takes to fill its goal alone; -1 where it did not.

    The agent is on the device, and all games are played at once. The env's `max_rounds` limits the turns. An agent of a
    training run needs the number of seats of its run.
    """
    starts = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (games, *leaf.shape)), solo_start(env))

    def is_over(states: ChineseCheckersState) -> jax.Array:
        return states.terminated | states.truncated

    def advance(carry: tuple[jax.Array, ChineseCheckersState]) -> tuple[jax.Array, ChineseCheckersState]:
        key, act_key = jax.random.split(carry[0])
        return key, jax.vmap(env.step, (0, 0, None))(carry[1], agent.act(act_key, carry[1]), act_key)

    @jax.jit
    def play(key: jax.Array) -> ChineseCheckersState:
        return jax.lax.while_loop(lambda carry: ~is_over(carry[1]).all(), advance, (key, starts))[1]

    end = jax.device_get(play(jax.random.key(seed)))
    return np.where(end.terminated, end.round + 1, -1)


def picture(game: SoloGame) -> render.Picture:
    """Returns an animation of a game, one frame per submove."""
    env = ChineseCheckers(game.size, 2)
    states, actions = replay(game, env)
    own = [at for at, state in enumerate(states[:-1]) if state.current_player == 0]
    return render.animate(env, [states[at] for at in [*own, -1]], [actions[at] for at in own])


# -- the command -------------------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> None:
    """The command `python -m jaxgames.solvers.chinese_checkers.lone_player`."""
    parser = argparse.ArgumentParser(
        prog="python -m jaxgames.solvers.chinese_checkers.lone_player",
        description="Find the shortest game of a lone player.",
    )
    parser.add_argument("--size", type=int, default=2, help="N, from 1 to 4 (default 2)")
    parser.add_argument("--quick", action="store_true", help="do not prove that the game is the shortest, for size 4")
    parser.add_argument("--width", type=int, default=WIDTH, help="positions per level of the search for a first game")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="a file for the game as an animated SVG")
    try:
        result = run(parser.parse_args(arguments))
    except KeyboardInterrupt:
        sys.exit(130)
    except (ValueError, OSError) as error:
        sys.exit(f"jaxgames.solvers.chinese_checkers.lone_player: {error}")
    print(json.dumps(result))


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Prints the game, and returns the result that the command prints as JSON. Raises ValueError if it cannot."""
    begin = time.process_time()
    game = shortest_solo(arguments.size, width=arguments.width, prove=not arguments.quick)
    seconds = time.process_time() - begin
    replay(game)
    for number, text in enumerate(game.texts(), start=1):
        print(f"{number:3}. {text}")
    if arguments.picture is not None:
        picture(game).save(arguments.picture)
    return {
        "size": game.size,
        "turns": len(game.turns),
        "lower_bound": game.lower_bound,
        "without_hops": len(shortest_without_hops(game.size).turns),
        "seconds": round(seconds, 1),
        "game": game.texts(),
    }


if __name__ == "__main__":
    main()
