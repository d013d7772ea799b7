"""The command `python -m train.ppo`."""

from train.driver import cli
from train.ppo import PPO

if __name__ == "__main__":
    cli.main(PPO)
