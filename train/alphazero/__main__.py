"""The command `python -m train.alphazero`."""

from train.alphazero import AlphaZero, config_for
from train.driver import cli

if __name__ == "__main__":
    cli.main(AlphaZero, config_for)
