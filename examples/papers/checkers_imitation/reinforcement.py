"""From imitation to reinforcement: trains PPO and AlphaZero from a policy of people's moves, and prints three tables.

    python -m examples.papers.checkers_imitation.reinforcement runs/imitation --data pairs.npz \\
        --output runs/reinforcement

PPO and AlphaZero start from the parameters of the run, with their presets `from_imitation`. Two further runs start from
random parameters, with the recipes of checkers, the same network and the same number of steps.

    games       every run against the pretrained policy and against PPO, sampled and greedy, from random three-move
                ballots; the agents swap seats after each game
    depth       the smallest depth of alpha-beta against which a greedy agent scores less than half
    people      the share of people's moves that a policy predicts, and its divergence from the pretrained policy
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from examples.papers import _experiment
from examples.papers._experiment import RATE, Column, ExperimentFields, Report, duel, run_experiment, table_of
from jaxgames import Env, ParameterError, arena
from jaxgames._specs import split_parameters
from jaxgames.agents import Agent, analyse
from train import agents, alphazero, ppo
from train.data import positions
from train.data.positions import Positions, evenly_spaced
from train.driver import loop
from train.driver.commands import GameArguments
from train.driver.learner import Learner
from train.driver.metrics import rounded
from train.models import networks
from train.settings import NETWORK_SETTINGS

Name = Literal["ppo", "ppo_scratch", "alphazero", "alphazero_scratch"]
Table = Literal["games", "depth", "people"]
GREEDY, SAMPLED = 0, 1  # temperatures
ROWS = 1024  # positions that a network evaluates at once
GAMES: dict[str, Column] = {
    "agent": "`{agent}`",
    "opponent": "`{opponent}`",
    "games": "{size:,}",
    **{name: f"{{{name}:,}}" for name in ("wins", "losses", "draws", "truncated")},
    "win rate": RATE,
    "score": "{score:.3f}",
}
DEPTHS: dict[str, Column] = {
    "agent": "`{agent}`",
    "depth below half": lambda row: row["opponent"] if row["score"] < 0.5 else "none of these",
    "score there": "{score:.3f}",
}
PEOPLE: dict[str, Column] = {
    "agent": "`{agent}`",
    "positions": "{positions:,}",
    "top-1": "{top_1:.3f} ({top_1_interval[0]:.3f}-{top_1_interval[1]:.3f})",
    "log loss": "{log_loss:.3f}",
    "KL from the pretrained policy": "{kl:.3f}",
}
SMALLEST_PROBABILITY = 1e-30  # in a logarithm


@dataclass(frozen=True)
class Arguments(ExperimentFields):
    pretrained: Annotated[str, tyro.conf.Positional]
    """A run of checkers, such as runs/imitation or runs/imitation@20."""
    data: Path
    """The file of positions with people's moves, which `train.data` wrote."""
    output: Path = Path("runs/reinforcement")
    runs: tuple[Name, ...] = get_args(Name)
    """The runs that are trained and measured."""
    ppo_steps: int = 3_000_000
    """Environment steps of each run of PPO."""
    alphazero_steps: int = 300_000
    """Environment steps of each run of AlphaZero."""
    games: int = 1000
    """Games of two agents on the device."""
    openings: str = "ballots"
    """The list of openings, as `--opening-list` of `train.match` takes it."""
    simulations: int = 64
    """Simulations of AlphaZero's search in further games against the pretrained policy; 0 leaves them out."""
    depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    """The depths of alpha-beta, in ascending order."""
    depth_games: int = 200
    """Games against each depth."""
    num_positions: int = 20_000
    """Positions of the split "test" that are predicted, evenly spaced."""
    seed: int = 0


Row = dict[str, Any]  # of a table: "table", "agent", "opponent", "size", "openings", "seed"; its result depends on them


def report(arguments: Arguments) -> Report:
    game_settings(arguments, arguments.games).check()
    pretrained = agents.name_of(arguments.pretrained)
    env = agents.env_for([pretrained])
    texts = {"pretrained": pretrained} | {name: train(name, pretrained, arguments) for name in arguments.runs}
    results: list[dict[str, Any]] = []

    def add(table: Table, agent: str, opponent: str, size: int, **changes: Any) -> None:
        of_games = {"openings": arguments.openings, "seed": arguments.seed}
        row = {"table": table, "agent": agent, "opponent": opponent, "size": size, **of_games, **changes}
        compute = functools.partial(predict if table == "people" else play, row, env, arguments, pretrained)
        results.append(row | arguments.once(row, compute))

    for opponent in ("pretrained", "ppo"):
        for name in texts:
            if opponent not in texts or name in ("pretrained", opponent):
                continue
            of_agent = [{"temperature": temperature} for temperature in (SAMPLED, GREEDY)]
            if (name, opponent) == ("alphazero", "pretrained") and arguments.simulations:
                of_agent.append({"temperature": GREEDY, "simulations": arguments.simulations})
            for parameters in of_agent:
                other = agent_text(texts[opponent], temperature=parameters["temperature"])
                add("games", agent_text(texts[name], **parameters), other, arguments.games)
    for text in texts.values():
        for depth in arguments.depths:
            opponent = f"alphabeta(depth={depth})"
            add("depth", agent_text(text, temperature=GREEDY), opponent, arguments.depth_games)
            if results[-1]["score"] < 0.5:
                break
    for text in texts.values():
        agent, of = agent_text(text, temperature=SAMPLED), f"{arguments.data}: test"
        add("people", agent, of, arguments.num_positions, openings="", seed=0)
    for result in results:
        result["agent"], result["opponent"] = (shortened(result[name], texts) for name in ("agent", "opponent"))
    return Report({"cells": results}, tables(results))


def train(name: Name, pretrained: str, arguments: Arguments) -> str:
    """Returns the text of a run's agent, after the rest of its training. Ends the program if a signal stops it."""
    learner, settings = learner_of(name, pretrained, arguments), loop.Settings(evaluate_every=0)
    return agents.name_of(_experiment.train(learner, arguments.output / name, settings))


def learner_of(name: Name, pretrained: str, arguments: Arguments) -> Learner:
    """Returns the learner of a run, with the network of the pretrained one and, unless from scratch, its parameters."""
    found = agents.parse(pretrained)
    if found is None or found.parameters:
        raise ValueError(f"expected a run such as runs/imitation or runs/imitation@20, not {pretrained}")
    learner: Any = agents.open_run(found.folder).learner
    config = learner.config
    given: dict[str, Any] = {setting: getattr(config, setting) for setting in NETWORK_SETTINGS}
    given |= {"network": without_dropout(learner), "seed": arguments.seed}
    if not name.endswith("scratch"):
        given["init_from"] = pretrained
    preset = None if name.endswith("scratch") else "from_imitation"
    if name.startswith("alphazero"):
        settings = alphazero.config_for(config.env, preset=preset, total_steps=arguments.alphazero_steps, **given)
        return alphazero.AlphaZero(settings)
    return ppo.PPO(ppo.config_for(config.env, preset=preset, total_steps=arguments.ppo_steps, **given))


def without_dropout(learner: Any) -> str | None:
    """Returns the text of a learner's network without dropout, which rollouts do not have; its parameters still fit."""
    text: str | None = learner.config.network
    if text is None or not learner.policy.network.training_mode:
        return text
    name, parameters = split_parameters(text, f"expected a network, not {text!r}")
    written = ", ".join(f"{key}={value!r}" for key, value in (parameters | {"dropout": 0.0}).items())
    try:
        networks.make(f"{name}({written})", learner.env)
    except ParameterError:  # it has no such parameter
        return text
    return f"{name}({written})"


def agent_text(run: str, **parameters: Any) -> str:
    """Returns the text of a run's agent with parameters. AlphaZero without simulations plays with the network alone."""
    found = agents.parse(run)
    assert found is not None
    if agents.open_run(found.folder).learner.name == "alphazero":
        parameters.setdefault("simulations", 0)
    return str(found._replace(parameters=parameters))


def play(row: Row, env: Env[Any], arguments: Arguments, pretrained: str) -> dict[str, Any]:
    """Returns the results of games, in which the agents alternate between the seats."""
    agent, opponent, size = row["agent"], row["opponent"], row["size"]
    pair = agents.make(agent, env), agents.make(opponent, env)
    found = duel(env, pair, game_settings(arguments, size), f"{agent} - {opponent}")
    counts = {name: found[name] for name in ("wins", "draws", "truncated")}
    counts["losses"] = size - sum(counts.values())
    score = round((found["wins"] + (found["draws"] + found["truncated"]) / 2) / size, 4)
    rates = rounded({name: found[name] for name in ("win_rate", "win_rate_interval", "mean_length")})
    return {**counts, "score": score, **rates}


def predict(row: Row, env: Env[Any], arguments: Arguments, pretrained: str) -> dict[str, Any]:
    """Returns how a policy predicts people's moves, and its mean divergence (nats) from the pretrained policy."""
    found = people(arguments)
    agent = agents.make(row["agent"], env)
    reference = agents.make(agent_text(pretrained, temperature=SAMPLED), env)
    parts = [found.take(np.arange(i, min(i + ROWS, len(found)))) for i in range(0, len(found), ROWS)]
    sums = [np.asarray(predicted(agent, reference, part.states, part.action)) for part in parts]
    hits, log_prob, divergence = np.sum(sums, 0)
    means = {"log_loss": -log_prob / len(found), "kl": divergence / len(found), "top_1": hits / len(found)}
    return rounded({name: float(mean) for name, mean in means.items()}) | {
        "positions": len(found),
        "top_1_interval": rounded(list(arena.wilson(int(hits), len(found)))),
    }


@functools.lru_cache(maxsize=1)
def people(arguments: Arguments) -> Positions:
    found = positions.load(arguments.data).of("test")
    return evenly_spaced(found.take(found.action >= 0), arguments.num_positions)


@jax.jit
def predicted(agent: Agent, reference: Agent, states: Any, action: jax.Array) -> jax.Array:
    """Returns sums over positions: of hits, of the log-probability of people's moves, and of the divergence."""
    analyses = [analyse(each, states) for each in (agent, reference)]
    p, q = (analysis.probabilities for analysis in analyses if analysis is not None)  # both are runs
    log_p, log_q = (jnp.log(jnp.maximum(each, SMALLEST_PROBABILITY)) for each in (p, q))
    log_prob = jnp.take_along_axis(log_p, action[:, None], axis=1)
    hits = p.argmax(-1) == action
    return jnp.stack([hits.sum(), log_prob.sum(), (p * (log_p - log_q)).sum()])


def game_settings(arguments: Arguments, games: int) -> GameArguments:
    """Returns the settings of games that begin with random openings of the list, two games with each."""
    return GameArguments(games=games, openings=-(-games // 2), opening_list=arguments.openings, seed=arguments.seed)


def shortened(text: str, texts: Mapping[str, str]) -> str:
    """Returns the text of an agent with the name of a run in place of its folder and checkpoint."""
    for name, run in texts.items():
        text = text.replace(f"{run}(", f"{name}(")
    return text


def tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the Markdown tables: of the games, of the depths of alpha-beta, and of people's moves."""
    last_depths = {row["agent"]: row for row in rows if row["table"] == "depth"}
    games = table_of((row for row in rows if row["table"] != "people"), GAMES)
    people = table_of((row for row in rows if row["table"] == "people"), PEOPLE)
    return "\n\n".join((games, table_of(last_depths.values(), DEPTHS), people))


if __name__ == "__main__":
    run_experiment(Arguments, None, report)
