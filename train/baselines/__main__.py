"""Trains the baseline agents that come with the project, and measures how strong they are: `make agents`.

    python -m train.baselines minichess --output trial --no-measure
    python -m train.baselines levels solved_boxes_3_3 ladder_boxes_solved

The card of an agent, jaxgames/baselines/NAME.json, has the commands that make its file and play its games. They run
here, with their runs in runs/baselines, and the folder of --output gets the new file and card. A finished command is
not run again, and one that was stopped resumes: `train.baselines.recorded_commands`.

To change an agent, change the commands and the sentences of its card. A new agent begins with a copy of another card,
whose results are replaced. `levels` rates the levels of the boards (`train.baselines.levels`). Other names are results
of the docs (`train.baselines.entries`).
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

from jaxgames._checks import check_choice
from jaxgames._files import write_whole
from jaxgames.baselines import cards, level_agents
from jaxgames.baselines.cards import Card, Command, WinRate
from jaxgames.policies import file as exported
from train.baselines import entries, levels, tables
from train.baselines.recorded_commands import RecordedCommands
from train.driver.commands import commit, run_command, stamp

OUTPUT = "jaxgames/baselines"  # the folder of the files in the commands
LEVELS = "levels"  # the name of their ratings, among those of agents and of results


@dataclass(frozen=True, kw_only=True)
class Arguments:
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """The agents, such as minichess, levels, or results of the docs, such as ladder_boxes_solved; none: all agents."""
    output: Path = Path(OUTPUT)
    """The folder of the files and cards."""
    measure: bool = True
    """Plays the games of the card. The agent `baseline` plays them, so they need the default --output."""


def baselines(arguments: Arguments) -> dict[str, Any]:
    """Writes the files and cards, prints the tables, and returns the result that the command prints.

    Raises ValueError for an unknown name, for arguments that do not fit together, and for a command that fails.
    """
    agents = sorted(path.stem for path in cards.FOLDER.glob("*.json") if path != level_agents.FILE)
    chosen = arguments.names or agents
    for name in chosen:
        check_choice("name", name, (*agents, LEVELS, *entries.ENTRIES))
    is_trial = not arguments.measure or arguments.output != Path(OUTPUT)
    if is_trial and (others := [name for name in chosen if name not in agents]):
        raise ValueError(f"--output and --no-measure are for agents only: leave them out for {', '.join(others)}")
    if arguments.measure and arguments.output.resolve() != cards.FOLDER:
        raise ValueError(f"games need the files in {cards.FOLDER}: leave --output out, or add --no-measure")
    made = [make_card(name, arguments) for name in chosen if name in agents]
    if made:
        print(tables.agents(made), tables.games(made), *(tables.ladder(card.ladder) for card in made), sep="\n\n")
    result: dict[str, Any] = {"baselines": [json.loads(json_of(card)) for card in made]}
    result |= {name: entries.store(name) for name in chosen if name in entries.ENTRIES}
    return result | ({LEVELS: levels.measure()} if LEVELS in chosen else {})


def json_of(card: Card) -> str:
    """Returns a card as JSON, which `jaxgames.baselines.cards.read` reads."""
    named = {name: [entry._asdict() for entry in getattr(card, name)] for name in cards.ENTRIES}
    return json.dumps(dataclasses.asdict(card) | named, indent=1) + "\n"


def make_card(name: str, arguments: Arguments) -> Card:
    """Trains an agent, writes its file, plays its games, and writes its card, which is returned."""
    records, path = RecordedCommands(), arguments.output / f"{name}.json"
    stored = cards.read(cards.FOLDER / f"{name}.json")
    if stored.name != name:
        raise ValueError(f"the name in {cards.FOLDER / name}.json must be {name!r}, not {stored.name!r}")
    card = trained(stored, records, arguments.output)
    write_whole(path, json_of(card))  # before the games, in which the agent reads it
    if arguments.measure:
        card = measured(card, records)
        write_whole(path, json_of(card))
    return card


def trained(card: Card, records: RecordedCommands, output: Path) -> Card:
    """Runs the commands of an agent, the last of which writes its file. Returns its card with no games played."""
    commands: list[Command] = []
    result: dict[str, Any] = {}  # of the last command
    version = ""  # of a command: a checksum of those before it, on whose results it depends
    file = f"{card.name}.policy"
    for text in (command.text for command in card.commands):
        record = records.run(text.replace(f"{OUTPUT}/{file}", shlex.quote(str(output / file))), version)
        version = hashlib.sha256(f"{version}\n{text}".encode()).hexdigest()[:8]
        seconds = None if record.cpu_seconds is None else round(record.cpu_seconds)
        result = record.result
        commands.append(Command(text, result.get("steps"), seconds))
    game, (header, _, _) = exported.read(output / file)
    if header.iteration == 0:  # the file has the network before its training
        commands = [each._replace(steps=each.steps and 0) for each in commands]
    return dataclasses.replace(
        card,
        env=str(game),
        commands=tuple(commands),
        parameters=result["parameters"],
        sha256=header.sha256,
        win_rates=tuple(each._replace(games=0, wins=0, draws=0, rate=0.0, interval=(0, 1)) for each in card.win_rates),
        ladder=(),
        # The folder of a ladder belongs to the file of the agent.
        ladder_command=f"{card.ladder_command.rpartition('_')[0]}_{header.sha256[:8]}",
        commit=commit(),
        processor=stamp()["processor"],
    )


def measured(card: Card, records: RecordedCommands) -> Card:
    """Plays the games of an agent, and returns its card with their results."""

    def played(rate: WinRate) -> WinRate:
        result = records.run(rate.command, card.sha256).result
        games, own = result["games"], result["agents"][0]
        draws = round(games * (result["draw_rate"] + result["truncated_rate"]))
        low, high = own["win_rate_interval"]
        return rate._replace(games=games, wins=own["wins"], draws=draws, rate=own["win_rate"], interval=(low, high))

    rates = tuple(map(played, card.win_rates))
    ladder = tables.ratings_of(entries.ladder_rows(records.run(card.ladder_command, card.sha256)))
    return dataclasses.replace(card, win_rates=rates, ladder=ladder)


main = functools.partial(run_command, "train.baselines", Arguments, baselines)

if __name__ == "__main__":
    main()
