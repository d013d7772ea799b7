"""Plays a game against agents or with other people, in the browser or in the terminal.

python -m jaxgames.play checkers
python -m jaxgames.play "chinese_checkers(size=2, num_players=3)" --seats human,random,greedy --terminal
"""

import argparse
import sys
from typing import Any

from jaxgames import agents, baselines, registry
from jaxgames._specs import split_list
from jaxgames.env import Env
from jaxgames.play.command import add_options, play, report_errors
from jaxgames.play.session import HUMAN


def main(arguments: list[str] | None = None) -> None:
    """The command `python -m jaxgames.play`."""
    parser = argparse.ArgumentParser(prog="python -m jaxgames.play", description="Play a game.")
    games = ", ".join(registry.list_games())
    parser.add_argument("game", help=f"one of {games}; with parameters: 'dots_and_boxes(rows=4, cols=4)'")
    add_options(
        parser,
        seats="who plays each seat: human or an agent, such as human,greedy (default: human against baseline; against "
        "greedy where that agent does not run, against random where the game has none)",
    )
    options = parser.parse_args(arguments)

    def run() -> None:
        env = registry.make(options.game)
        if options.seats is None:
            seats = [HUMAN, *[default_opponent(env)] * (env.num_players - 1)]
        else:
            seats = split_list(options.seats)
        play(env, seats, options, agents.make)

    report_errors("jaxgames.play", run)


def default_opponent(env: Env[Any]) -> str:
    """Returns the text of the agent that plays a game where --seats is not given."""
    if baselines.find(env) is None:
        return "random"
    try:
        agents.make("baseline", env)
    except ValueError as error:
        print(f"jaxgames.play: greedy plays, because the baseline agent does not run: {error}", file=sys.stderr)
        return "greedy"
    return "baseline"


if __name__ == "__main__":
    main()
