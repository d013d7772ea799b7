"""The command `python -m train.klent`."""

from train.driver import cli
from train.klent import KLENT

if __name__ == "__main__":
    cli.main(KLENT)
