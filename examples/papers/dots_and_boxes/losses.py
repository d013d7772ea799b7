"""Measures in which part of its games an agent of Dots and Boxes loses boxes.

    python -m examples.papers.dots_and_boxes.losses "runs/graph(simulations=64)" --board 5x5 --games 60

The agent plays against a reference, by default `alphabeta`. From certain positions of each game, the reference then
plays both seats to the end. The agent's mean margin at the end tells what those positions were worth to it. The
difference to the next row is what the agent lost in between, compared with the reference. The first box that can be
taken is left out of the differences: each game has it at another number of open edges.

The positions are the first ones with a number of open edges, and the first one in which a box can be taken: someone has
opened a chain. The last row is the game as it was played. The agents alternate between the seats, and every two games
begin with the same two random edges.

The result is one line of the output file: a command that is repeated prints it again without games. The last line on
standard output is JSON.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import tyro
from tqdm import tqdm

from examples.papers._cells import computed_once
from examples.papers.dots_and_boxes.board_sizes import OPENING_PLIES, deterministic, env_of
from jaxgames import Env, arena
from jaxgames.agents import Agent
from jaxgames.solvers.dots_and_boxes.solution import boxes
from train import agents
from train.driver import tables
from train.driver.commands import GameArguments, print_result, text_of_rate
from train.driver.metrics import rounded

FIRST_OFFER, PLAYED = "first box to take", "as played"  # rows beside those with a number of open edges


@dataclass(frozen=True)
class Arguments:
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
    """Seed of the openings and of the games."""
    output: Path = Path("runs/boxes_losses/cells.jsonl")
    """The file of the results, one line of JSON each."""


class Cell(NamedTuple):
    """All that a result depends on."""

    board: str
    agent: str
    reference: str
    open_edges: str
    games: int
    seed: int


class Played(NamedTuple):
    """Games as they were played, on the host."""

    boards: Any  # states [games, plies + 1]; the last boards of a game are over
    seat: np.ndarray  # int[games], that of the agent
    openings: int  # different ones


def main() -> None:
    """The command `python -m examples.papers.dots_and_boxes.losses`."""
    program = "examples.papers.dots_and_boxes.losses"
    arguments = tyro.cli(Arguments, prog=f"python -m {program}", description=__doc__)
    print_result(program, lambda: boxes_losses(arguments))


def boxes_losses(arguments: Arguments) -> dict[str, Any]:
    """Returns the agent's results from each position on, as a mapping for JSON, and prints them as a table.

    Raises ValueError or FileNotFoundError for arguments that are wrong, before any game.
    """
    env = env_of(arguments.board)
    if wrong := [number for number in arguments.open_edges if not 0 < number < env.num_actions - OPENING_PLIES]:
        most = env.num_actions - OPENING_PLIES - 1
        raise ValueError(f"open_edges must be from 1 to {most} on {arguments.board}, not {wrong[0]}")
    names = deterministic(arguments.agent), deterministic(arguments.reference)
    numbers = sorted({*arguments.open_edges}, reverse=True)
    cell = Cell(arguments.board, *names, ",".join(map(str, numbers)), arguments.games, arguments.seed)
    found = computed_once(arguments.output, cell, lambda: measure(env, cell, numbers))
    lines = [
        (row["from"], text_of_rate(row["win_rate"], row["win_rate_interval"]), f"{row['margin']:+.2f}", lost)
        for row, lost in zip(found["rows"], lost_boxes(found["rows"]), strict=True)
    ]
    print(tables.markdown(("the reference plays on from", "win rate", "mean margin", "lost until the next row"), lines))
    return cell._asdict() | found


def lost_boxes(rows: list[dict[str, Any]]) -> list[str]:
    """Returns the boxes lost until the next row, as texts; "" for the first offer, which no difference counts."""
    counted = [row for row in rows if row["from"] != FIRST_OFFER]
    lost = {row["from"]: row["margin"] - after["margin"] for row, after in itertools.pairwise(counted)}
    return [f"{lost[row['from']]:+.2f}" if row["from"] in lost else "" for row in rows]


def measure(env: Env[Any], cell: Cell, numbers: list[int]) -> dict[str, Any]:
    """Returns the rows of a cell: those of open edges in descending order, the first offer in its place, the games."""
    pair = agents.make(cell.agent, env), agents.make(cell.reference, env)
    with tqdm(total=cell.games * (len(numbers) + 2), unit=" games", disable=None) as bar:
        played = play(env, pair, cell, bar)
        num_open = (~played.boards.edges).sum(-1)  # int[games, plies + 1]
        offer = first_offer(env, played.boards.edges)
        rows = [(float(num_open[np.arange(cell.games), offer].mean()), FIRST_OFFER, offer)]
        rows += [(number, f"{number} open edges", (num_open > number).sum(1)) for number in numbers]
        found = [
            row_of(name, env, continued(env, pair[1], played, place, cell.seed, bar), played.seat) | {"open_edges": at}
            for at, name, place in sorted(rows, key=lambda row: -row[0])
        ]
    last = jax.tree.map(lambda leaf: leaf[:, -1], played.boards)
    return rounded({"rows": [*found, row_of(PLAYED, env, last, played.seat)], "openings": played.openings})


def play(env: Env[Any], pair: tuple[Agent, Agent], cell: Cell, bar: "tqdm[Any]") -> Played:
    """Returns the games of the agent against the reference."""
    settings = GameArguments(
        games=cell.games, openings=-(-cell.games // 2), opening_plies=OPENING_PLIES, seed=cell.seed
    )
    settings.check()
    seats = arena.seating((1, 1), "alternating", cell.games)
    openings = settings.openings_for(env, "alternating")
    assert openings is not None
    plies = env.num_actions - int(np.asarray(openings.plies).min())
    actions = np.full((cell.games, plies), -1, np.int32)

    def keep(recorded: arena.Recorded) -> None:
        for number, length, row in zip(recorded.numbers, recorded.games.length, recorded.actions, strict=True):
            actions[number, :length] = row[:length]

    arena.play(env, pair, seats, jax.random.key(cell.seed), openings=openings, on_finished=bar.update, on_recorded=keep)
    different = len(np.unique(np.sort(openings.actions, axis=1), axis=0))
    return Played(boards_of(env, openings.boards, actions), np.asarray(seats).argmin(1), different)


def boards_of(env: Env[Any], start: Any, actions: np.ndarray) -> Any:
    """Returns the boards before and after each action of games, [games, plies + 1], on the host.

    Args:
      env: the game.
      start: the first boards, leaves [games, ...].
      actions: int32[games, plies], -1 after the last one of a game.
    """

    def step(board: Any, action: jax.Array) -> tuple[Any, Any]:
        after = env.step(board, action.clip(0))
        after = jax.tree.map(lambda new, old: jax.numpy.where(action >= 0, new, old), after, board)
        return after, after

    def of_game(board: Any, actions: jax.Array) -> Any:
        _, after = jax.lax.scan(step, board, actions)
        return jax.tree.map(lambda first, rest: jax.numpy.concatenate([first[None], rest]), board, after)

    return jax.device_get(jax.jit(jax.vmap(of_game))(start, actions))


def first_offer(env: Any, edges: np.ndarray) -> np.ndarray:
    """Returns int[games], the place of the first board with a box of three drawn edges, of edges bool[games, N, E]."""
    drawn = np.stack([edges[..., np.array(box)].sum(-1) for box in boxes(env)], axis=-1)
    return (drawn == 3).any(-1).argmax(1)


def continued(env: Env[Any], reference: Agent, played: Played, place: np.ndarray, seed: int, bar: "tqdm[Any]") -> Any:
    """Returns the last boards of the games if the reference plays both seats from the boards at `place`, int[games]."""
    boards = jax.tree.map(lambda leaf: leaf[np.arange(len(place)), place], played.boards)
    seats = np.zeros((len(place), env.num_players), np.int32)
    games = arena.play(
        env,
        (reference,),
        jax.numpy.asarray(seats),
        jax.random.key(seed),
        openings=arena.openings_of_boards(boards).for_games(len(place)),
        on_finished=bar.update,
    )
    return jax.device_get(games.boards)


def row_of(name: str, env: Env[Any], last: Any, seat: np.ndarray) -> dict[str, Any]:
    """Returns the win rate with its interval and the mean margin of the agent, of the last boards of games.

    Args:
      name: of the row.
      env: the game.
      last: boards that are over, leaves [games, ...].
      seat: int[games], that of the agent.
    """
    own, other = ((last.owner == each[:, None]).sum(1) for each in (seat, 1 - seat))
    margin = own.astype(np.int64) - other
    wins = int((margin > 0).sum())
    low, high = arena.wilson(wins, len(margin))
    return {
        "from": name,
        "win_rate": wins / len(margin),
        "win_rate_interval": [float(low), float(high)],
        "margin": float(margin.mean()),
    }


if __name__ == "__main__":
    main()
