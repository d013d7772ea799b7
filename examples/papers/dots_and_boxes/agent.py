"""Plays the agent `alphabeta` against the opponents of a study in Dots and Boxes, and prints the study's table beside.

    python -m examples.papers.dots_and_boxes.agent
    python -m examples.papers.dots_and_boxes.agent --agent study --opponents self mcts random first \
        --output runs/papers/dots_and_boxes/study_agent

The opponents of the study (El Kaddouri, Rys and Gao 2024, section 5.7, 500 games each, on a board and with a number of
simulations that it does not state):

    self        the agent itself
    mcts        OpenSpiel's MCTSBot with 1,000 simulations and one random game each, on OpenSpiel's own dots_and_boxes
    random      uniformly random edges
    first       the first open edge
    study       the study's own agent, `study_agent.py`: depth 9, the boxes taken, one random safe edge

Any other text names an agent. The seats alternate. A game is lost to the clock if one move of the agent takes longer
than its time. It is played to its end all the same. The study's table has time-outs, but not of which player.
"""

import functools
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from examples.papers._experiment import RATE, Column, Experiment, Report, progress_over, run_experiment, table_of
from jaxgames import Env, arena
from jaxgames._checks import ParameterError
from jaxgames.agents import Agent, act_on_one_board
from train import agents
from train.driver.metrics import rounded

BOARD = (5, 5)  # the study does not state its own
THEIRS = {"self": (245, 255, 0), "mcts": (431, 0, 69), "random": (499, 0, 1), "first": (500, 0, 0)}
COLUMNS: dict[str, Column] = {
    "opponent": "`{opponent}`",
    **{name: f"{{{name}}}" for name in ("games", "wins", "losses", "ties")},
    "lost to the clock": "{lost_to_the_clock}",
    "win rate": RATE,
    "ms per move: mean, p99, max": "{ms[mean]:.2f}, {ms[p99]:.2f}, {ms[max]:.2f}",
    "of these on the CPU": "{cpu_ms[mean]:.2f}, {cpu_ms[p99]:.2f}, {cpu_ms[max]:.2f}",
    "opponent's CPU ms": "{opponent_cpu_ms[mean]:.2f}",
}
OF_THE_STUDY: dict[str, Column] = {  # for its opponents on the board that we took for its own
    "the study: wins, losses, time-outs": lambda row: ", ".join(map(str, THEIRS.get(row["opponent"], ()))),
}
QUICK: dict[str, Any] = {"games": 2, "board": (2, 2), "opponents": ("mcts", "random"), "simulations": 2}
STUDY = "examples.papers.dots_and_boxes.study_agent:study(depth=9, milliseconds=200)"


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/dots_and_boxes/agent")
    games: int = 500
    """Games against each opponent."""
    board: tuple[int, int] = BOARD
    """Rows and columns of boxes."""
    agent: str = "alphabeta"
    """The text of the agent; `study` is the study's own."""
    milliseconds: int = 200
    """The time of a move, after which a game counts as lost to the clock."""
    opponents: tuple[str, ...] = ("self", "mcts", "random", "first", "study")
    """The opponents: names of the table above, or texts of agents."""
    simulations: int = 1000
    """Simulations of mcts."""
    seed: int = 0


def report(arguments: Arguments) -> Report:
    env = jaxgames.make("dots_and_boxes", rows=arguments.board[0], cols=arguments.board[1])
    agent = opponent_of("self", env, arguments)
    opponents = {name: opponent_of(name, env, arguments) for name in arguments.opponents}
    common = {name: getattr(arguments, name) for name in ("games", "milliseconds", "simulations", "seed")}
    rows: list[dict[str, Any]] = []
    for name, opponent in opponents.items():
        key = {"env": str(env), "agent": str(agent), "opponent": name, **common}
        result = arguments.once(key, functools.partial(play_row, env, agent, opponent, arguments))
        rows.append({"agent": str(agent), "opponent": name, "games": arguments.games, **result})
    result = {"env": str(env), "agent": str(agent), "milliseconds": arguments.milliseconds, "rows": rows}
    is_theirs = arguments.board == BOARD and not THEIRS.keys().isdisjoint(opponents)
    return Report(result, table_of(rows, COLUMNS | OF_THE_STUDY if is_theirs else COLUMNS))


def play_row(env: Env[Any], agent: Agent, opponent: Agent, arguments: Arguments) -> dict[str, Any]:
    """Returns the results of the games against one opponent."""
    players = [Timed(agent), Timed(opponent)]
    for player in players:  # compiles what is not compiled, out of the measured moves
        player.act(jax.random.key(0), jax.tree.map(lambda leaf: leaf[None], env.init()))
        player.seconds.clear()
        player.cpu_seconds.clear()
    seats = arena.seating((1, 1), "alternating", arguments.games)
    key, lost_to_the_clock = jax.random.key(arguments.seed), 0
    played: list[arena.Games] = []
    # One by one, so that the times of a move belong to its game.
    for number in progress_over(range(arguments.games), "games", f"{agent} - {opponent}"):
        begin = len(players[0].seconds)
        played.append(arena.play(env, players, seats[number : number + 1], jax.random.fold_in(key, number)))
        lost_to_the_clock += max(players[0].seconds[begin:], default=0) > arguments.milliseconds / 1000
    games = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *played)
    found = arena.results(env, games, seats)
    times = {"ms": players[0].seconds, "cpu_ms": players[0].cpu_seconds, "opponent_cpu_ms": players[1].cpu_seconds}
    counts = {"wins": found["wins"], "losses": arguments.games - found["wins"] - found["draws"], "ties": found["draws"]}
    counts |= {"lost_to_the_clock": lost_to_the_clock, "moves": len(players[0].seconds)}
    shares = {name: found[name] for name in ("win_rate", "win_rate_interval")}
    return counts | rounded({**shares, **{name: milliseconds(seconds) for name, seconds in times.items()}})


def milliseconds(seconds: list[float]) -> dict[str, float]:
    """Returns the mean, the 99th percentile and the largest of some times."""
    times = 1e3 * np.array(seconds)
    return {"mean": float(times.mean()), "p99": float(np.quantile(times, 0.99)), "max": float(times.max())}


def opponent_of(text: str, env: Env[Any], arguments: Arguments) -> Agent:
    """Returns the opponent with a name of the study, or with the text of an agent."""
    if text == "mcts":
        return OpenSpielMCTS(env, arguments.simulations, arguments.seed)
    text = arguments.agent if text == "self" else text
    return agents.make(STUDY if text == "study" else text, env)


@dataclass(frozen=True)
class Timed:
    """Plays as another agent on one board at a time. Keeps the seconds of each move, and CPU seconds of all threads."""

    on_device: ClassVar[bool] = False
    agent: Agent
    seconds: list[float] = field(default_factory=list[float])
    cpu_seconds: list[float] = field(default_factory=list[float])

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        states = jax.block_until_ready(states)
        began, cpu_began = time.perf_counter(), time.process_time()
        action = act_on_one_board(self.agent, key, states)
        self.seconds.append(time.perf_counter() - began)
        self.cpu_seconds.append(time.process_time() - cpu_began)
        return jnp.asarray(action)


class OpenSpielMCTS:
    """OpenSpiel's own bot on OpenSpiel's own game, both compiled. It follows one game from move to move.

    The agent `openspiel` plays the same bot on the rules of jaxgames from any board, but much more slowly.
    """

    on_device: ClassVar[bool] = False

    def __init__(self, env: Any, simulations: int, seed: int) -> None:
        from examples.openspiel_match import counterpart, make_bot  # needs an extra

        self._game, _ = counterpart(env)
        self._bot = make_bot(self._game, simulations, seed)
        self._state: Any = self._game.new_initial_state()

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns int32[1], the bot's action on one board, a later one of the same game or one of a new game."""
        drawn = {int(edge) for edge in np.flatnonzero(np.asarray(states.edges[0]))}
        if not {*self._state.history()} <= drawn:
            self._state = self._game.new_initial_state()
        while edges := drawn - {*self._state.history()}:  # the opponent's: all but the last one complete boxes
            mover = self._state.current_player()
            taking = (edge for edge in sorted(edges) if self._state.child(edge).current_player() == mover)
            self._state.apply_action(next(taking, min(edges)))
        if self._state.current_player() != int(states.current_player[0]):
            raise ParameterError("mcts follows one game from its start: this board is of another game")
        action = int(self._bot.step(self._state))
        self._state.apply_action(action)
        return jnp.array([action], jnp.int32)

    def __str__(self) -> str:
        return "mcts"


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
