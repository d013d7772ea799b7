"""Trains the baseline agents that come with the project, and measures how strong they are: `make agents`.

    python -m train.baselines minichess --output trial --no-measure

`train.baselines.recipes` has the commands of each agent. Their runs are in runs/baselines. The folder of --output gets
the file of each agent and its card, see `jaxgames.baselines.cards`. A finished command is not run again, and one that
was stopped resumes: `train.baselines.recorded_commands`.
"""

import dataclasses
import functools
import hashlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from jaxgames import make as make_env
from jaxgames._checks import check_choice
from jaxgames._files import write_whole
from jaxgames.baselines import cards
from jaxgames.baselines.cards import Card, Command, WinRate
from jaxgames.policies import file as exported
from train.baselines import entries, tables
from train.baselines.recipes import CHECKSUM_DIGITS, OUTPUT, RECIPES, RUNS, Recipe
from train.baselines.recorded_commands import RecordedCommands
from train.driver.commands import run_command
from train.driver.machine import commit, stamp


@dataclass(frozen=True, kw_only=True)
class Arguments:
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """The agents, such as minichess; none for all."""
    output: Path = Path(OUTPUT)
    """The folder of the files and cards."""
    measure: bool = True
    """Plays the games of the card. The agent `baseline` plays them, so they need the default --output."""


def baselines(arguments: Arguments) -> dict[str, Any]:
    """Writes the files and cards, prints the tables, and returns the result that the command prints.

    Raises ValueError for an unknown name, for arguments that do not fit together, and for a command that fails.
    """
    for name in arguments.names:
        check_choice("name", name, tuple(RECIPES))
    if arguments.measure and arguments.output.resolve() != cards.FOLDER:
        raise ValueError(f"games need the files in {cards.FOLDER}: leave --output out, or add --no-measure")
    made = [make_card(name, RECIPES[name], arguments) for name in arguments.names or RECIPES]
    print(tables.agents(made), tables.games(made), *(tables.ladder(card.ladder) for card in made), sep="\n\n")
    return {"baselines": [json.loads(json_of(card)) for card in made]}


def json_of(card: Card) -> str:
    """Returns a card as JSON, which `jaxgames.baselines.cards.read` reads."""
    entries = {name: [entry._asdict() for entry in getattr(card, name)] for name in cards.ENTRIES}
    return json.dumps(dataclasses.asdict(card) | entries, indent=1) + "\n"


def make_card(name: str, recipe: Recipe, arguments: Arguments) -> Card:
    """Trains an agent, writes its file, plays its games, and writes its card, which is returned."""
    records = RecordedCommands(Path(RUNS) / "commands.jsonl")
    path = arguments.output / f"{name}.json"
    card = trained(name, recipe, records, arguments.output)
    write_whole(path, json_of(card))  # before the games, in which the agent reads it
    if arguments.measure:
        card = measured(card, recipe, records)
        write_whole(path, json_of(card))
    return card


def trained(name: str, recipe: Recipe, records: RecordedCommands, output: Path) -> Card:
    """Runs the commands of an agent, the last of which writes its file. Returns its card without games."""
    commands: list[Command] = []
    result: dict[str, Any] = {}  # of the last command
    version = ""  # of a command: a checksum of those before it, on whose results it depends
    for text in recipe.commands:
        record = records.run(
            text.replace(f"{OUTPUT}/{name}.policy", shlex.quote(str(output / f"{name}.policy"))), version
        )
        version = hashlib.sha256(f"{version}\n{text}".encode()).hexdigest()[:CHECKSUM_DIGITS]
        seconds = None if record.cpu_seconds is None else round(record.cpu_seconds)
        result = record.result
        commands.append(Command(text, result.get("steps"), seconds))
    game, (header, _, _) = exported.read(output / f"{name}.policy")
    if header.iteration == 0:  # the file has the network before its training
        commands = [each._replace(steps=each.steps and 0) for each in commands]
    return Card(
        name=name,
        env=str(game),
        training=recipe.training,
        self_play=recipe.self_play,
        self_play_source=recipe.self_play_source,
        commands=tuple(commands),
        parameters=result["parameters"],
        sha256=header.sha256,
        win_rates=(),
        ladder=(),
        ladder_command="",
        has_values=recipe.has_values,
        commit=commit(),
        processor=stamp()["processor"],
    )


def measured(card: Card, recipe: Recipe, records: RecordedCommands) -> Card:
    """Plays the games of an agent, and returns its card with their results."""
    num_players = make_env(recipe.env).num_players
    pairs = [*(("baseline", opponent) for opponent in tables.OPPONENTS), *recipe.matches]
    rates = tuple(
        win_rate(agent, opponent, recipe.match_command(agent, opponent, num_players), records, card.sha256)
        for agent, opponent in pairs
    )
    text = recipe.ladder_command(card.name, card.sha256)
    ladder = tables.ratings_of(entries.ladder_rows({"ladder": records.run(text, card.sha256)}))
    return dataclasses.replace(card, win_rates=rates, ladder=ladder, ladder_command=text)


def win_rate(agent: str, opponent: str, text: str, records: RecordedCommands, sha256: str) -> WinRate:
    """Returns the results of a command that plays an agent's games against copies of another agent."""
    result = records.run(text, sha256).result
    games, own = result["games"], result["agents"][0]
    draws = round(games * (result["draw_rate"] + result["truncated_rate"]))
    low, high = own["win_rate_interval"]
    return WinRate(opponent, games, own["wins"], draws, own["win_rate"], (low, high), text, agent)


main = functools.partial(run_command, "train.baselines", Arguments, baselines)

if __name__ == "__main__":
    main()
