"""Plays a game against agents or with other people, in the browser or in the terminal.

python -m jaxgames.play                                         # the page offers all games
python -m jaxgames.play checkers
python -m jaxgames.play "chinese_checkers(size=2, num_players=3)" --seats human,greedy,human --terminal
"""

import argparse

from jaxgames import agents, baselines, registry
from jaxgames._specs import split_list
from jaxgames.play.command import add_options, play, run_command
from jaxgames.play.opponents import default_seats
from jaxgames.play.words import first_game, offered_games

FIRST = offered_games()[0]  # is played where no game is named


def main(arguments: list[str] | None = None) -> None:
    """The command `python -m jaxgames.play`."""
    parser = argparse.ArgumentParser(prog="python -m jaxgames.play", description="Play a game.")
    games = ", ".join(registry.list_games())
    parser.add_argument(
        "game",
        nargs="?",
        help=f"one of {games}; with parameters: 'dots_and_boxes(rows=4, cols=4)' (default: {FIRST}; the page offers "
        "all others)",
    )
    add_options(
        parser,
        seats="who plays each seat: human, easy, medium, hard, or an agent, such as human,greedy (default: human "
        "against the baseline agent of the game, else against alphabeta, else against greedy)",
    )

    def run(options: argparse.Namespace) -> None:
        text = options.game or FIRST
        env = registry.make(first_board(text) if options.seats is None else text)
        if options.seats is None:
            seats = default_seats(env)
        else:
            levels = baselines.levels(env)
            seats = [levels.get(text, text) for text in split_list(options.seats)]
        play(env, seats, options, agents.make)

    run_command("jaxgames.play", parser, arguments, run)


def first_board(text: str) -> str:
    """Returns a first board of a game that is named without parameters; prints a line if it is not the default."""
    if text not in offered_games() or registry.make(first_game(text)) == registry.make(text):
        return text
    board = first_game(text)
    print(f'A first game: "{board}". The default board: "{registry.make(text)}"')
    return board


if __name__ == "__main__":
    main()
