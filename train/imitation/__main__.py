"""The command `python -m train.imitation`."""

from train.driver import cli
from train.driver.loop import Settings
from train.imitation import Imitation

if __name__ == "__main__":
    cli.main(Imitation, Settings(checkpoint_every=1, evaluate_every=1))
