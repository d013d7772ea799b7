"""The command `python -m train.alphazero`."""

from train.alphazero import AlphaZero
from train.driver import cli

if __name__ == "__main__":
    cli.main(AlphaZero)
