"""Measures how near agents come to solving a game, against its exact solution.

    python -m train.strength runs/first --simulations 16 64
    python -m train.strength runs/first --checkpoints --simulations 64

`jaxgames.solvers.strength.measure` computes the numbers; docs/strength.md explains them. A run's agent plays its
network's best action, with tree search where --simulations is given, and by its values alone with --value-head. With
--checkpoints every checkpoint is measured and drawn.

The last line on standard output is JSON: env, seat, plies, and a row of measures per agent and search. A row has the
`simulations` of its search as a number, too: 0 for a run's network alone, null for its values and others.
"""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import tyro

from jaxgames import Env
from jaxgames._progress import Progress
from jaxgames.agents import Agent, EpsilonAgent, GreedyAgent, RandomAgent, act_compiled, analyse
from jaxgames.solvers import Solution, load, solve
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.policy_table import BATCH, Act, Values, play_by_values
from train import agents
from train.driver.commands import run_command
from train.driver.metrics import rounded
from train.driver.result_file import ResultFile
from train.driver.run_folder import RunFolder
from train.driver.tables import markdown
from train.models.tabulated import with_table
from train.plot import common_settings, curve_of, draw, save

ROWS_FILE = "strength.jsonl"
DIGITS = 7  # of the printed numbers
VALUE_HEAD = "value head"  # the row of --value-head
COLUMNS = {  # of the printed table: the measure, by its head
    "ultra-weak": "ultra_weak",
    "solved": "weak_solved",
    "weak": "weak_states",
    "states": "agent_states",
    "uniform": "weak_uniform",
    "sure": "sure_fraction",
    "s. won": "sure_won",
    "kept": "kept_value",
    "w. action": "action_weak",
    "s. action": "strong_action",
    "decisive": "strong_decisive",
    "won": "strong_won",
    "fastest": "strong_fastest",
    "v. sign": "value_sign",
}
DRAWN = (  # measures, a panel each
    *("weak_states", "strong_action", "action_weak", "value_mse", "weak_value_mse"),
    *("value_accuracy", "weak_value_accuracy", "agent_states"),
)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Runs, such as runs/first or runs/first@40, or others, such as greedy. Agents that play at random are refused."""
    env: str | None = None
    """The game, as `jaxgames.make` takes it. If not given, the game of the first run."""
    solution: Path | None = None
    """The file that `python -m jaxgames.solvers` wrote for the game. If not given, the game is solved first."""
    simulations: tuple[int, ...] = ()
    """Numbers of simulations: every run is also measured with a tree search of each."""
    value_head: bool = False
    """Every run is also measured by its value head alone: it plays the move after which its value is best for it."""
    plies: int = 50
    """The length at which a game is cut off and drawn."""
    seat: int = 0
    """The seat of the agent."""
    strong_states: int | None = None
    """The number of random states for the strong measures; all if not given."""
    weak: bool = True
    """The ultra-weak and weak measures. For these an agent moves in every position of the games with all replies."""
    checkpoints: bool = False
    """Measure every checkpoint of one run, and draw them as pictures in the output folder."""
    output: Path | None = None
    """A folder for the rows, as lines of JSON. Rows that it has already are not measured again.
    With --checkpoints, `strength` in the run's folder if not given."""


class Row(NamedTuple):
    """One row of the table, before it is measured."""

    agent: str  # the agent's text
    search: str = ""  # "", "64 simulations" or VALUE_HEAD
    simulations: int | None = None  # of the search on a run's network, 0 without one; None: its values, another agent

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.agent, self.search)))


class Player(NamedTuple):
    """An agent as `measure` takes it."""

    act: Act
    values: Values | None


def strength(arguments: Arguments) -> dict[str, Any]:
    """Returns the result that the command prints: game, settings, and a row of measures per agent and search."""
    planned, output = _planned(arguments), arguments.output
    env = agents.env_for([*dict.fromkeys(row.agent for row in planned)], arguments.env)
    if arguments.checkpoints and output is None:
        output = Path(arguments.agents[0]) / "strength"
    settings = {"env": str(env), "plies": arguments.plies, "seat": arguments.seat}
    settings |= {"strong_states": arguments.strong_states, "weak": arguments.weak}
    file = None if output is None else ResultFile(output / ROWS_FILE, ("settings", "agent", "search"))
    solution = solution_of(env, arguments.solution)
    rows: list[dict[str, Any]] = []
    for number, row in enumerate(planned, start=1):
        names = {"agent": row.agent, "search": row.search}
        compute = functools.partial(_measured, row, env, solution, arguments, f"{number}/{len(planned)} {row.name}")
        measures = compute() if file is None else file.once({"settings": settings, **names}, compute)
        rows.append(names | {"simulations": row.simulations} | measures)
    result: dict[str, Any] = {**settings, "rows": rows}
    if arguments.checkpoints and output is not None:
        run = agents.open_run(Path(arguments.agents[0]))
        result["pictures"] = [str(path) for path in draw_checkpoints(run, rows, output)]
    return result


def solution_of(env: Env[Any], path: Path | None) -> Solution[Any]:
    """Returns the solution of a game from its file; without a file, the game is solved first."""
    return solve(env) if path is None else load(path, env)


def _planned(arguments: Arguments) -> list[Row]:
    """Returns the rows of all agents: of a run, or of each of its checkpoints, the network alone and each search."""
    if not arguments.agents:
        raise ValueError("name at least one agent, such as runs/first or greedy")
    if (arguments.simulations or arguments.value_head) and not any(map(agents.parse, arguments.agents)):
        raise ValueError("--simulations and --value-head take the network of a run, and none of the agents is a run")
    if any(number < 1 for number in arguments.simulations):
        raise ValueError("--simulations takes numbers of 1 or more; the network alone is always measured")
    texts = [agents.name_of(text) for text in arguments.agents]
    if arguments.checkpoints:
        named = agents.parse(arguments.agents[0])
        if len(texts) > 1 or named is None or named.iteration is not None or named.parameters:
            raise ValueError(f"--checkpoints takes the folder of one run, not {' '.join(arguments.agents)}")
        texts = [f"{named.folder}@{iteration}" for iteration in named.open().checkpoints()]
    rows: list[Row] = []
    for text in texts:
        named = agents.parse(text)
        alone = None if named is None else int(named.parameters.get("simulations") or 0)
        rows.append(Row(text, simulations=alone))
        if named is not None:
            rows += [Row(text, f"{number} simulations", simulations=number) for number in arguments.simulations]
            rows += [Row(text, VALUE_HEAD)] * arguments.value_head
    return rows


def _player(row: Row, env: Env[Any], solution: Solution[Any], arguments: Arguments) -> Player:
    """Returns the agent of a row. A run is its network alone, unless its brackets or the row have a search."""
    named = agents.parse(row.agent)
    if named is None:
        return deterministic(row.agent, agents.make(row.agent, env), env)
    run = named.open()
    parameters = {"temperature": 0.0} | agents.without_search(run.learner) | named.parameters
    if row.search:
        parameters |= {"simulations": row.simulations} if row.simulations else agents.without_search(run.learner)
    # An upper bound of the boards on which the agent moves.
    boards = solution.num_states if arguments.weak else arguments.strong_states or solution.num_states
    agent = with_table(agents.agent_of_run(run, named.iteration, env, **parameters), boards)
    player = deterministic(row.agent, agent, env)
    if row.search == VALUE_HEAD:
        if player.values is None or not solution.has_plies:
            raise ValueError("--value-head takes a network with values, in a game that is won or lost by its last move")
        return Player(play_by_values(solution, player.values, arguments.seat), None)
    return player._replace(values=None) if row.search else player  # the row of the network has the values


def _measured(row: Row, env: Env[Any], solution: Solution[Any], arguments: Arguments, title: str) -> dict[str, Any]:
    """Returns the measures of a row, and shows the progress."""
    begin = time.monotonic()
    try:
        player = _player(row, env, solution, arguments)
        times = 1 if player.values is None else 2  # that a state is given to the agent: for its move, for its value
        with Progress(times * solution.num_states, "states", title) as bar:
            measures = measure(
                env,
                _counted(player.act, bar),
                solution,
                arguments.plies,
                seat=arguments.seat,
                values=None if player.values is None else _counted(player.values, bar),
                strong_states=arguments.strong_states,
                weak=arguments.weak,
            )
    except ValueError as error:
        raise ValueError(f"{row.agent}: {error}") from error
    return rounded({"seconds": time.monotonic() - begin, **measures}, DIGITS)


def _counted(function: Callable[[Any], Any], bar: Progress) -> Callable[[Any], Any]:
    """Returns a function of batches of states that shows on the bar how many it has been given."""

    def call(states: Any) -> Any:
        bar.update(BATCH)
        return function(states)

    return call


# -- agents ------------------------------------------------------------------------------------------------------------


def deterministic(text: str, agent: Agent, env: Env[Any]) -> Player:
    """Returns the agent as `measure` takes it: with one key for all boards. Of equal moves, greedy plays the first."""
    if isinstance(agent, RandomAgent | EpsilonAgent) or getattr(agent, "temperature", None) is not None:
        raise ValueError(
            f"{text} plays at random, and the measures need one move per board: expected an agent without epsilon, and "
            "for a run temperature=0 or no temperature"
        )
    key = jax.random.key(0)
    if isinstance(agent, GreedyAgent):
        return Player(jax.jit(lambda states: agent.analyse(states).probabilities.argmax(-1)), None)
    values = functools.partial(_values, agent) if agent.on_device and has_values(agent, env) else None
    return Player(functools.partial(act_compiled, agent, key), values)


def has_values(agent: Agent, env: Env[Any]) -> bool:
    """Returns whether the agent, which can be traced, has values of the seats in the game's unit of reward."""
    same_reward = getattr(agent, "env", env) == env
    states = jax.eval_shape(jax.vmap(env.init), jax.eval_shape(lambda: jax.random.split(jax.random.key(0), BATCH)))
    analysis = jax.eval_shape(analyse, agent, states)
    return same_reward and analysis is not None and analysis.values is not None


@jax.jit
def _values(agent: Any, states: Any) -> jax.Array:
    """Returns float32[B], the mover's value, by an agent for which `has_values` is True."""
    return jnp.take_along_axis(agent.analyse(states).values, states.current_player[:, None], axis=1)[:, 0]


# -- text and pictures -------------------------------------------------------------------------------------------------


def draw_checkpoints(run: RunFolder, rows: Sequence[Mapping[str, Any]], output: Path) -> list[Path]:
    """Writes the picture of the measures by iteration, with a line for each search. Returns its paths.

    `rows` are those of the run's checkpoints.
    """
    of_search: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        iteration = int(row["agent"].rpartition("@")[2])  # such as 40 of runs/first@40
        of_search.setdefault(row["search"] or "network alone", []).append({**row, "iteration": iteration})
    columns = {
        name: [curve_of(label, name, "iteration", {run.folder: each}) for label, each in of_search.items()]
        for name in DRAWN
        if any(row.get(name) is not None for row in rows)
    }
    return save(draw(columns, by="iterations", title=common_settings([run])), output / "figures")


def table(result: Mapping[str, Any]) -> str:
    """Returns the table of the measures in Markdown, with the columns that some row has."""
    rows: Sequence[Mapping[str, Any]] = result["rows"]
    columns = {head: name for head, name in COLUMNS.items() if any(row.get(name) is not None for row in rows)}
    cells = [
        [Row(row["agent"], row["search"]).name, *(format_measure(row.get(name)) for name in columns.values())]
        for row in rows
    ]
    return markdown(("agent", *columns), cells, padded=True)


def format_measure(value: Any) -> str:
    """Returns a measure as the table shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.5f}"


main = functools.partial(run_command, "train.strength", Arguments, strength, text=table)

if __name__ == "__main__":
    main()
