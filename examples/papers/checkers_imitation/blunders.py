"""Blunders by the number of the turn and by the pieces on the board, and the captures among the predictions.

    python -m examples.papers.checkers_imitation.blunders --agents "runs/imitation(temperature=0)" \\
        "runs/reinforced(simulations=64, temperature=0)" baseline greedy --data pairs.npz

Every agent plays against alpha-beta, from random three-move ballots and from both seats. A deeper alpha-beta values
every move of the agent. The tables have

    games       the results, the men lost per turn, and the share of blunders: moves that lose more than half a man
    turn        the share of blunders on even boards, which are worth less than two men for either side, by the number
                of the agent's turn
    pieces      the same by the pieces on the board
    lost        the men lost per turn, on all boards, by turn and by pieces
    captures    of positions of recorded games: the share whose best raw action, of all 128, is legal; where a capture
                is compulsory it is then a capture. Only of agents that play with a network alone
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from examples.papers._experiment import (
    Column,
    Experiment,
    Report,
    duel,
    entry_of,
    progress_over,
    run_experiment,
    table_of,
)
from examples.papers.checkers_imitation.__main__ import logits_of
from examples.papers.checkers_imitation.positions import is_jump
from jaxgames import Env, arena, make
from jaxgames.games.checkers.pdn import BrokenGame
from jaxgames.policies.agent import PolicyAgent
from train import agents
from train.analyse.annotation import Turn, annotate, of_record, read_games
from train.data import positions
from train.data.positions import Positions, evenly_spaced
from train.driver.commands import GameArguments, text_of_rate
from train.driver.metrics import rounded
from train.driver.tables import markdown

EXAMPLES = Path("examples/checkers.pdn")
ENV = "checkers"
QUICK = {
    "agents": ("baseline", "greedy"),
    "games": 4,
    "depth": 2,
    "opponent": "alphabeta(depth=1)",
    "num_positions": 500,
}
TURNS = {"1-10": 10, "11-20": 20, "21-30": 30, "31-40": 40, "41+": 1 << 30}  # stage: its last turn, of the mover's own
PIECES = {"21-24": 20, "17-20": 16, "13-16": 12, "9-12": 8, "5-8": 4, "2-4": 0}  # stage: it has more pieces than this
EVEN = 2.0  # men; a board is even if its best move is worth less for either side
LOST, BLUNDERS = "men lost per turn", "blunders there"  # the columns of a table by stages
STAGES: dict[str, Column] = {
    "turns": "{turns:,}",
    LOST: "{lost:.2f}",
    "blunders": lambda row: f"{row['blunders'] / row['turns']:.3f}",
    "turns on even boards": "{even:,}",
    BLUNDERS: lambda row: text_of_rate(row["even_blunders"] / row["even"], row["even_interval"]) if row["even"] else "",
}
GAMES: dict[str, Column] = {
    "agent": "`{agent}`",
    **{name: f"{{{name}:,}}" for name in ("games", "wins", "losses", "draws")},
    **STAGES,
}
CAPTURES: dict[str, Column] = {
    "agent": "`{agent}`",
    "positions with a capture": "{captures:,}",
    "best raw action is a capture": "{captures_right:.4f} ({captures_interval[0]:.4f}-{captures_interval[1]:.4f})",
    "within a capture": "{further:,}",
    "continues it": "{further_right:.4f}",
    "positions without": "{steps:,}",
    "best raw action is legal": "{steps_right:.4f} ({steps_interval[0]:.4f}-{steps_interval[1]:.4f})",
}


@dataclass(frozen=True)
class Arguments(Experiment):
    agents: tuple[str, ...] = ("baseline", "baseline(simulations=64)", "greedy")
    """The agents: runs, such as "runs/imitation(temperature=0)", or others."""
    opponent: str = "alphabeta(depth=3)"
    """The agent that they play against."""
    games: int = 200
    """Games of each agent."""
    depth: int = 6
    """The turns that the judge, alpha-beta, looks ahead."""
    blunder: float = 0.5
    """A move that loses more men than this is a blunder."""
    data: Path = EXAMPLES
    """The recorded positions: a file of `train.data`, whose split "test" counts, or a .pdn file."""
    num_positions: int = 20_000
    """Their number, evenly spaced."""
    output: Path = Path("runs/papers/checkers_imitation/blunders")
    seed: int = 0


def report(arguments: Arguments) -> Report:
    env = make(ENV)
    players: dict[str, dict[str, Any]] = {}
    for text in arguments.agents:
        key = {"agent": agents.name_of(text), "opponent": arguments.opponent, "games": arguments.games}
        key |= {"depth": arguments.depth, "blunder": arguments.blunder, "seed": arguments.seed}
        players[text] = arguments.once(key, functools.partial(judge, env, text, arguments))
    predictions = [
        {"agent": text, **arguments.once(key, functools.partial(captures, agent, arguments), "captures")}
        for text in arguments.agents
        if isinstance(agent := agents.make(text, env), PolicyAgent)
        for key in [{"agent": agents.name_of(text), "data": str(arguments.data), "positions": arguments.num_positions}]
    ]
    result = {"games": players, "captures": predictions}
    return Report(result, "\n\n".join(tables(players, predictions)))


def judge(env: Env[Any], text: str, arguments: Arguments) -> dict[str, Any]:
    """Returns the results of an agent's games, and what its moves lost by stage."""
    own: list[Turn] = []
    pair = agents.make(text, env), agents.make(arguments.opponent, env)
    games, records = arguments.games, list[arena.GameRecord]()
    settings = GameArguments(games=games, openings=-(-games // 2), opening_list="ballots", seed=arguments.seed)
    results = duel(env, pair, settings, f"{text}, played", records)
    for record in progress_over(records, "games", f"{text}, valued"):
        seat, opening = record["agents"].index("agent"), record["opening"]
        first = opening["plies"] if opening else 0
        turns = annotate(of_record(record, env=env), arguments.depth, arguments.blunder)
        own += [turn for turn in turns if turn.seat == seat and turn.ply >= first]
    losses = games - results["wins"] - results["draws"] - results["truncated"]
    counts = {"wins": results["wins"], "losses": losses, "draws": results["draws"] + results["truncated"]}
    return {**counts, "stages": stages(own)}


def stages(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """Returns a row for all turns, for each stage by turn, and for each stage by pieces; those without turns are left
    out.

    A row has `by` ("turn", "pieces" or "all"), `stage`, and of its turns

        turns          their number
        lost           men lost per turn; a win or a loss that the search has seen counts 10 men
        blunders       the number of blunders
        even           the turns that begin on an even board, whose value is below two men for either side
        even_blunders  the blunders among them
        even_interval  the 95 % Wilson interval of their share

    Every turn must have the values of alpha-beta.
    """
    places = [("all", "all"), *(("turn", stage) for stage in TURNS), *(("pieces", stage) for stage in PIECES)]
    found: dict[tuple[str, str], list[Turn]] = {place: [] for place in places}
    for turn in turns:
        assert turn.pieces is not None
        own = (turn.number + 1) // 2  # the seats take turns
        found["all", "all"].append(turn)
        found["turn", next(stage for stage, last in TURNS.items() if own <= last)].append(turn)
        found["pieces", next(stage for stage, below in PIECES.items() if turn.pieces > below)].append(turn)
    rows: list[dict[str, Any]] = []
    for (by, stage), chosen in found.items():
        if not chosen:
            continue
        even = [turn for turn in chosen if turn.before is not None and abs(turn.before) < EVEN]
        even_blunders = sum(turn.blunder for turn in even)
        rows.append(
            {
                "by": by,
                "stage": stage,
                "turns": len(chosen),
                "lost": round(float(np.mean([turn.lost or 0.0 for turn in chosen])), 4),
                "blunders": sum(turn.blunder for turn in chosen),
                "even": len(even),
                "even_blunders": even_blunders,
                "even_interval": rounded(list(arena.wilson(even_blunders, len(even)))),
            }
        )
    return rows


def captures(agent: PolicyAgent, arguments: Arguments) -> dict[str, Any]:
    """Returns how often the best of all actions is legal: on positions with a capture, within one, and on others."""
    found = recorded(arguments.data, arguments.num_positions, agent.env)
    logits, legal = logits_of(agent.policy, agent.params, found), positions.legal_actions(found)
    right = legal[np.arange(len(found)), logits.argmax(1)]
    is_capture, is_further = is_jump(found.states, legal.argmax(1)), np.asarray(found.states.jumper) != 0
    sets = {"captures": is_capture, "further": is_further, "steps": ~is_capture}
    result: dict[str, Any] = {}
    for name, chosen in sets.items():
        size, hits = int(chosen.sum()), int(right[chosen].sum())
        result |= {name: size, f"{name}_right": round(hits / max(1, size), 5)}
        result[f"{name}_interval"] = rounded(list(arena.wilson(hits, size)))
    return result


def recorded(path: Path, number: int, env: Env[Any]) -> Positions:
    """Returns positions of recorded games, evenly spaced. Raises ValueError for a file without games."""
    if path.suffix != ".pdn":
        return evenly_spaced(positions.load(path, env).of("test"), number)
    games = [game for game in read_games(path, env) if not isinstance(game, BrokenGame)]
    if not games:
        raise ValueError(f"{path} has no game that can be read")
    states = jax.tree.map(lambda *leaves: np.concatenate(leaves), *(game.states for game in games))
    action = np.concatenate([game.actions for game in games])
    return evenly_spaced(Positions(env, states, action), number)


def tables(players: Mapping[str, Mapping[str, Any]], predictions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the Markdown tables: of the games, of the blunders by turn and by pieces, of the men, of the captures."""
    results = [
        {"agent": text, "games": found["wins"] + found["losses"] + found["draws"], **found, **found["stages"][0]}
        for text, found in players.items()
    ]
    yield table_of(results, GAMES)
    yield by_stage(players, {"turn": TURNS}, BLUNDERS)
    yield by_stage(players, {"pieces": PIECES}, BLUNDERS)
    yield by_stage(players, {"turn": TURNS, "pieces": PIECES}, LOST)
    if predictions:
        yield table_of(predictions, CAPTURES)


def by_stage(players: Mapping[str, Mapping[str, Any]], limits: Mapping[str, Mapping[str, int]], measure: str) -> str:
    """Returns a table with a row per agent, a column per stage, and one of STAGES in its cells."""
    columns = [(by, stage) for by, names in limits.items() for stage in names]
    rows: list[list[str]] = []
    for text, result in players.items():
        found = {(row["by"], row["stage"]): str(entry_of(row, STAGES[measure])) for row in result["stages"]}
        rows.append([f"`{text}`", *(found.get(column, "") for column in columns)])
    return markdown(("agent", *(f"{by} {stage}" if by == "turn" else f"{stage} pieces" for by, stage in columns)), rows)


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
