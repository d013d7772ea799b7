"""Plays an agent against others, on one seat against the same opponent on all other seats.

    python -m train.evaluate "runs/first@40(temperature=0)" --opponents random greedy runs/second --output games.jsonl

It prints a table with a row per opponent and seat. The last line on standard output is JSON: the game, the agent, how
it plays, the opponent, and the `jaxgames.arena.Results` of the agent. With several opponents these are of all games,
and `opponents` has the results against each of them. mean_turns is the mean number of turns of the agent, the last one
included, in the games that it won.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import tyro

from jaxgames import arena
from jaxgames._specs import split_list
from train import agents
from train.driver.commands import GameArguments, game_file, play_games, run_command
from train.driver.metrics import rounded
from train.driver.tables import markdown
from train.match import rows_by_seat, turns_to_win, won


@dataclass(frozen=True, kw_only=True)
class Arguments(GameArguments):
    agent: Annotated[str, tyro.conf.Positional]
    """The agent: a run, such as runs/first or "runs/first@40(temperature=0)", or another agent, such as greedy."""
    opponents: tuple[str, ...] = ("random",)
    """The agent on all other seats. If there are several, the agent plays against each of them. Commas separate agents,
    too."""
    seat: int | None = None
    """The seat of the agent in every game; if not given, see --seating."""
    seating: Literal["drawn", "alternating"] = "drawn"
    """drawn: the agent's seat is drawn for each game. alternating: it is the next seat in each game."""


def evaluate(arguments: Arguments) -> dict[str, Any]:
    """Returns the result that the command prints."""
    arguments.check()
    opponent_texts = [text for part in arguments.opponents for text in split_list(part)]
    if not all(opponent_texts) or not opponent_texts:
        raise ValueError(f"--opponents must be agents, such as random greedy, not {' '.join(arguments.opponents)!r}")
    if arguments.temperature is not None and agents.parse(arguments.agent) is None:
        raise ValueError(f"--temperature is a setting of runs: leave it out for {arguments.agent}")
    if arguments.seat is not None and arguments.seating == "alternating":
        raise ValueError(f"--seat {arguments.seat} is the agent's seat in every game: leave out --seating alternating")
    texts = [agents.with_temperature(arguments.agent, arguments.temperature), *opponent_texts]
    env = agents.env_for(texts, arguments.env)
    agent, *opponents = (agents.make(text, env) for text in texts)
    names = [agents.name_of(text) for text in texts]
    key, seat_key = jax.random.split(jax.random.key(arguments.seed))  # the same for every opponent
    if arguments.seating == "drawn" or env.num_players == 1:
        agent_of_seat = arena.one_seat(seat_key, arguments.games, env.num_players, arguments.seat)
    else:
        agent_of_seat = arena.seating((1, env.num_players - 1), "alternating", arguments.games)
    openings = arguments.openings_for(env, env.num_players if arguments.seating == "alternating" else 1)

    with game_file(arguments.output) as file:
        games = [
            play_games(env, (agent, opponent), (names[0], name), agent_of_seat, key, openings, file)
            for opponent, name in zip(opponents, names[1:], strict=True)
        ]
    rows = [
        {"opponent": text, **rounded(arena.results(env, played, agent_of_seat))}
        for text, played in zip(opponent_texts, games, strict=True)
    ]
    common = {"env": str(env), "agent": arguments.agent, "plays": agents.play_of(agent)}
    if len(rows) == 1:
        return common | rows[0]
    everything: arena.Games = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *games)
    total = arena.results(env, everything, jnp.tile(agent_of_seat, (len(games), 1)))
    return {**common, **rounded(total), "opponents": rows}


def table(result: Mapping[str, Any]) -> str:
    """Returns the result of `evaluate` as text: a row per opponent, and below it a row per seat of the agent."""
    rows: list[tuple[object, ...]] = []
    opponents = result.get("opponents", [result])
    for row in [{**result, "opponent": "all opponents"}] * (len(opponents) > 1) + opponents:
        lost = row["games"] - row["wins"] - row["draws"] - row["truncated"]
        rows.append((row["opponent"], *won(row), row["draws"], row["truncated"], lost, turns_to_win(row)))
        rows += [] if "opponents" in row else rows_by_seat(row, before=0, after=4)
    header = ("against", "won", "95 % interval", "drawn", "cut off", "lost", "turns to win")
    plays = f" ({result['plays']})" if result["plays"] else ""
    return f"{result['agent']}{plays} in {result['env']}:\n\n{markdown(header, rows, padded=True)}\n"


main = functools.partial(run_command, "train.evaluate", Arguments, evaluate, text=table)

if __name__ == "__main__":
    main()
