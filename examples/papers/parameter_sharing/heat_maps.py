"""Figure 3: heat maps of the pegs of a policy with full sharing, by turn and iteration, against random players.

    python -m examples.papers.parameter_sharing.heat_maps --runs runs/papers/parameter_sharing/parameter_sharing

The policy plays seat 0, from the top of the star to the bottom. A map shows the share of the games in which a peg of
the policy is on a cell after a number of turns. Games that have ended by then count with their last position.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from examples.papers._experiment import Report, run_experiment
from examples.papers.parameter_sharing.runs import FinishedRuns, runs_by_sharing
from examples.papers.parameter_sharing.study import GAME
from jaxgames import Env, arena, make
from jaxgames.agents import Agent, RandomAgent
from jaxgames.arena import Games
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.policies.agent import PolicyAgent
from jaxgames.render.drawing import CELL
from jaxgames.render.pegs import ROW
from train.driver.tables import markdown

SIZE, SEAT = 2, 0
HOME, GOAL = (tables(SIZE).triangle == triangle for triangle in (0, 3))  # bool[cells], of seat 0
PLACES = {"pegs at home": HOME, "between": ~HOME & ~GOAL, "in the goal": GOAL}
QUICK: dict[str, Any] = {"games": 4, "iterations": (1, 2), "turns": (1, 2), "seeds": 1}


@dataclass(frozen=True)
class Arguments(FinishedRuns):
    output: Path = Path("runs/papers/parameter_sharing/heat_maps")
    iterations: tuple[int, ...] = (10, 99)
    """A row of maps for the policy after each of these iterations."""
    turns: tuple[int, ...] = (5, 15, 25, 35)
    """A map after each of these turns of the policy."""
    games: int = 100
    """Games of each map and run."""
    seeds: int = 1


def report(arguments: Arguments) -> Report:
    trained = max(arguments.iterations)
    runs = runs_by_sharing(arguments.runs, arguments.output, trained, arguments.seeds, ("shared",))["shared"]
    watched = {i: [watch_games(run, i, arguments) for run in runs] for i in arguments.iterations}
    maps = {i: np.mean([each["pegs"] for each in of_runs], axis=0) for i, of_runs in watched.items()}
    both = {i: np.mean([each["both"] for each in of_runs], axis=0) for i, of_runs in watched.items()}
    rows = [
        [i, turn, *(f"{maps[i][number][cells].sum():.2f}" for cells in PLACES.values()), f"{both[i][number]:.2f}"]
        for i in arguments.iterations
        for number, turn in enumerate(arguments.turns)
    ]
    table = markdown(["iteration", "turn", *PLACES, "games with pegs at home and in the goal"], rows)
    result = {str(i): np.round(of_turns, 4).tolist() for i, of_turns in maps.items()}
    return Report(result, table, {"figure_3": draw(maps, arguments.turns)})


def watch_games(run: Any, iteration: int, arguments: Arguments) -> dict[str, np.ndarray]:
    """Returns shares of the games, after each number of turns.

    "pegs" float64[turns, cells]: with a peg of the policy on a cell. "both" float64[turns]: with a peg of the policy at
    home and one in the goal.
    """

    def play() -> dict[str, Any]:
        agent = PolicyAgent(run.params(iteration), make(GAME), run.learner.policy)
        key = jax.random.fold_in(jax.random.key(run.config.seed), iteration)
        pegs = np.asarray(pegs_after_turns(make(GAME), agent, key, arguments.games, arguments.turns))
        both = pegs[..., HOME].any(-1) & pegs[..., GOAL].any(-1)
        return {"pegs": pegs.sum(1).tolist(), "both": both.sum(1).tolist()}

    turns = ",".join(map(str, arguments.turns))
    key = {"run": str(run.folder), "iteration": iteration, "turns": turns, "games": arguments.games}
    counts = arguments.once(key, play)
    return {name: np.array(counts[name], np.float64) / arguments.games for name in ("pegs", "both")}


@functools.partial(jax.jit, static_argnames=("env", "games", "turns"))
def pegs_after_turns(env: Env[Any], agent: Agent, key: jax.Array, games: int, turns: tuple[int, ...]) -> jax.Array:
    """Returns bool[turns, games, cells], whether a peg of the agent is on a cell after each number of its turns.

    It plays seat 0 against random players. Cells are in the frame of this seat, with its home on top. A game that ends
    earlier counts with its last position.
    """
    start_key, play_key = jax.random.split(key)
    seats = arena.one_seat(start_key, games, env.num_players, SEAT)
    players = agent, RandomAgent(env)
    wanted = jnp.array(turns)[:, None]  # [turns, games] with the games' counters
    pegs = jax.vmap(lambda board: pegs_of(env, board))

    def body(carry: tuple[Games, jax.Array, jax.Array]) -> tuple[Games, jax.Array, jax.Array]:
        games, seen, key = carry
        key, subkey = jax.random.split(key)
        after, _ = arena.advance(env, players, seats, games, subkey)
        still = after.turns[:, SEAT] <= wanted  # until the seat's next turn begins
        return after, jnp.where(still[..., None], pegs(after.boards), seen), key

    begun = arena.start(env, start_key, games)
    seen = jnp.broadcast_to(pegs(begun.boards), (len(turns), games, len(tables(SIZE).axial)))
    return jax.lax.while_loop(lambda carry: ~carry[0].over.all(), body, (begun, seen, play_key))[1]


def pegs_of(env: Env[Any], board: Any) -> jax.Array:
    """Returns bool[cells], the pegs of seat 0, in its frame."""
    q, r = (tables(SIZE).axial + 2 * SIZE).T
    return env.observe(board, SEAT)[q, r, 0]


def draw(maps: dict[int, np.ndarray], turns: tuple[int, ...]) -> Figure:
    """Returns Figure 3: a star for each iteration and turn, its cells coloured by the share of the own pegs."""
    figure = Figure(figsize=(2.6 * len(turns) + 0.8, 2.9 * len(maps)), layout="constrained")
    panels: Any = figure.subplots(len(maps), len(turns), squeeze=False)
    q, r = tables(SIZE).axial.T
    x, y = CELL * (q + r / 2), ROW * r
    colours = colormaps["magma_r"]
    for (iteration, of_iteration), row in zip(maps.items(), panels, strict=True):
        for turn, own, axes in zip(turns, of_iteration, row, strict=True):
            for place, share in zip(zip(x, y, strict=True), own, strict=True):
                axes.add_patch(Circle(place, CELL / 2 * 0.92, facecolor=colours(share), edgecolor="0.6", linewidth=0.5))
            axes.set(xlim=(x.min() - CELL, x.max() + CELL), ylim=(y.max() + CELL, y.min() - CELL), aspect="equal")
            axes.set_title(f"iteration {iteration}, turn {turn}", fontsize="small")
            axes.axis("off")
    scale = ScalarMappable(Normalize(0, 1), colours)
    figure.colorbar(scale, ax=panels, label="share of the games with a peg", shrink=0.7)
    return figure


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
