"""Plays against the agent of a training run, in the browser or in the terminal.

    python -m train.play runs/first
    python -m train.play "runs/first@40(temperature=0)" --seats human,greedy,runs/first --terminal

In the terminal, `h` shows the most probable moves of the run, and your chance to win.
"""

import argparse

from jaxgames._specs import split_list
from jaxgames.play.command import add_options, play, run_command
from jaxgames.play.session import HUMAN
from train import agents


def main(arguments: list[str] | None = None) -> None:
    """The command `python -m train.play`."""
    parser = argparse.ArgumentParser(prog="python -m train.play", description="Play against the agent of a run.")
    parser.add_argument(
        "run", help="the folder of a run; also with a checkpoint and parameters: 'runs/first@40(top=5)'"
    )
    parser.add_argument("--env", help="the game, if the board differs from the board of the run")
    add_options(
        parser, seats="who plays each seat: human, a run or another agent (default: human, the run on the rest)"
    )

    def run(options: argparse.Namespace) -> None:
        if agents.parse(options.run) is None:
            raise ValueError(
                f"{options.run} is not a run: play against it by python -m jaxgames.play GAME --seats human,..."
            )
        seats = None if options.seats is None else split_list(options.seats)
        env = agents.env_for([options.run, *(text for text in seats or [] if text != HUMAN)], options.env)
        play(env, seats or [HUMAN, *[options.run] * (env.num_players - 1)], options, agents.make)

    run_command("train.play", parser, arguments, run)


if __name__ == "__main__":
    main()
