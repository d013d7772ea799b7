"""Measures in which part of its games an agent of Dots and Boxes loses boxes.

    python -m examples.papers.dots_and_boxes.losses "runs/graph(simulations=64)" --board 5x5 --games 60

The agent plays against a reference, by default `alphabeta`. From certain positions of each game, the reference then
plays both seats to the end. The agent's mean margin at the end tells what those positions were worth to it. The
difference to the next row is what the agent lost in between, compared with the reference. The first box that can be
taken is left out of the differences: each game has it at another number of open edges.

The positions are the first ones with a number of open edges, and the first one in which a box can be taken, because a
chain was opened. The last row is the game as it was played. The agents alternate between the seats, and every two games
begin with the same two random edges.

The result is a line of `cells.jsonl` in the output folder: a command that is repeated prints it again without games.
The last line on standard output is JSON.
"""

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import tyro

from examples.papers._experiment import RATE, ExperimentFields, Report, command, table_of
from examples.papers.dots_and_boxes.matches import OPENING_PLIES, board_of, deterministic, play
from jaxgames import Env, arena
from jaxgames._progress import Progress
from jaxgames.agents import Agent
from jaxgames.games.dots_and_boxes.rules import boxes
from train import agents
from train.driver.metrics import rounded

COLUMNS = {
    "the reference plays on from": "{from}",
    "win rate": RATE,
    "mean margin": "{margin:+.2f}",
    "lost until the next row": "{lost}",
}
FIRST_OFFER, PLAYED = "first box to take", "as played"  # rows beside those with a number of open edges


@dataclass(frozen=True)
class Arguments(ExperimentFields):
    agent: Annotated[str, tyro.conf.Positional]
    """The agent, such as "runs/graph(simulations=64)"."""
    reference: str = "alphabeta"
    """The opponent, which also plays the games to their end for both seats."""
    board: str = "5x5"
    """Rows and columns of boxes."""
    open_edges: tuple[int, ...] = (50, 40, 35, 30, 25, 20, 15, 10, 5)
    """The numbers of open edges from which the reference plays on."""
    games: int = 60
    """Games of the agent against the reference."""
    seed: int = 0
    output: Path = Path("runs/boxes_losses")


class Played(NamedTuple):
    """Games as they were played, on the host."""

    boards: Any  # states [games, plies + 1]; the last boards of a game are over
    seat: np.ndarray  # int[games], the seat of the agent
    openings: int  # different ones


def report(arguments: Arguments) -> Report:
    """Plays the games and continues them, unless the result is stored. All arguments are checked before any game."""
    env = board_of(arguments.board)
    most = env.num_actions - OPENING_PLIES - 1
    if wrong := [number for number in arguments.open_edges if not 1 <= number <= most]:
        raise ValueError(f"open_edges must be from 1 to {most} on {arguments.board}, not {wrong[0]}")
    numbers = sorted({*arguments.open_edges}, reverse=True)
    key: dict[str, Any] = {
        "board": arguments.board,
        "agent": deterministic(arguments.agent),
        "reference": deterministic(arguments.reference),
        "open_edges": ",".join(map(str, numbers)),
        "games": arguments.games,
        "seed": arguments.seed,
    }
    result = arguments.once(key, functools.partial(measure, env, key, numbers))
    rows = [row | {"lost": lost} for row, lost in zip(result["rows"], lost_boxes(result["rows"]), strict=True)]
    return Report(key | result, table_of(rows, COLUMNS))


def lost_boxes(rows: list[dict[str, Any]]) -> list[str]:
    """Returns the boxes lost until the next row, as texts; "" for the first offer, which no difference counts."""
    counted = [row for row in rows if row["from"] != FIRST_OFFER]
    lost = {row["from"]: row["margin"] - after["margin"] for row, after in itertools.pairwise(counted)}
    return [f"{lost[row['from']]:+.2f}" if row["from"] in lost else "" for row in rows]


def measure(env: Env[Any], key: Mapping[str, Any], numbers: list[int]) -> dict[str, Any]:
    """Returns the rows of open edges in descending order, with the first offer in its place, and of the games."""
    pair = agents.make(key["agent"], env), agents.make(key["reference"], env)
    num_games = key["games"]
    with Progress(total=num_games * (len(numbers) + 2), unit="games") as bar:
        played = record(env, pair, num_games, key["seed"], bar)
        num_open = (~played.boards.edges).sum(-1)  # int[games, plies + 1]
        offer = first_offer(env, played.boards.edges)
        starts = [(float(num_open[np.arange(num_games), offer].mean()), FIRST_OFFER, offer)]
        starts += [(number, f"{number} open edges", (num_open > number).sum(1)) for number in numbers]
        rows = [
            row_of(name, continued(env, pair[1], played, place, key["seed"], bar), played.seat) | {"open_edges": at}
            for at, name, place in sorted(starts, key=lambda start: -start[0])
        ]
    last = jax.tree.map(lambda leaf: leaf[:, -1], played.boards)
    return rounded({"rows": [*rows, row_of(PLAYED, last, played.seat)], "openings": played.openings})


def record(env: Env[Any], pair: tuple[Agent, Agent], num_games: int, seed: int, bar: Progress) -> Played:
    """Returns the games of the agent against the reference, with all their boards."""
    actions = np.zeros((num_games, env.num_actions), np.int32)

    def keep(recorded: arena.Recorded) -> None:
        for number, length, row in zip(recorded.numbers, recorded.games.length, recorded.actions, strict=True):
            actions[number, :length] = row[:length]

    match = play(env, pair, num_games, seed, bar, keep)
    plies = env.num_actions - int(np.asarray(match.openings.plies).min())
    boards = boards_of(env, match.openings.boards, actions[:, :plies])
    return Played(boards, np.asarray(match.seats).argmin(1), match.num_openings())


def boards_of(env: Env[Any], start: Any, actions: np.ndarray) -> Any:
    """Returns the boards before and after each action of games, [games, plies + 1], on the host.

    `start` has the first boards, and `actions` is int32[games, plies]; a board that is over stays as it is.
    """

    def of_game(board: Any, actions: jax.Array) -> Any:
        last, before = jax.lax.scan(lambda board, action: (env.step(board, action), board), board, actions)
        return jax.tree.map(lambda rest, end: jax.numpy.concatenate([rest, end[None]]), before, last)

    return jax.device_get(jax.jit(jax.vmap(of_game))(start, actions))


def first_offer(env: Any, edges: np.ndarray) -> np.ndarray:
    """Returns int[games], the place of the first board with a box of three drawn edges, of edges bool[games, N, E]."""
    drawn = np.stack([edges[..., np.array(box)].sum(-1) for box in boxes(env)], axis=-1)
    return (drawn == 3).any(-1).argmax(1)


def continued(env: Env[Any], reference: Agent, played: Played, place: np.ndarray, seed: int, bar: Progress) -> Any:
    """Returns the last boards of the games if the reference plays both seats from the boards at `place`, int[games]."""
    boards = jax.tree.map(lambda leaf: leaf[np.arange(len(place)), place], played.boards)
    seats = jax.numpy.zeros((len(place), env.num_players), jax.numpy.int32)
    openings = arena.openings_of_boards(boards).for_games(len(place))
    key = jax.random.key(seed)
    games = arena.play(env, (reference,), seats, key, openings=openings, on_finished=bar.update)
    return jax.device_get(games.boards)


def row_of(name: str, last: Any, seat: np.ndarray) -> dict[str, Any]:
    """Returns the win rate with its interval and the mean margin of the agent on `seat`, int[games], of last boards."""
    own, other = ((last.owner == each[:, None]).sum(1) for each in (seat, 1 - seat))
    margin = own.astype(np.int64) - other
    wins = int((margin > 0).sum())
    interval = [float(bound) for bound in arena.wilson(wins, len(margin))]
    rates = {"win_rate": wins / len(margin), "win_rate_interval": interval}
    return {"from": name, **rates, "margin": float(margin.mean())}


main = command(Arguments, None, report)

if __name__ == "__main__":
    main()
