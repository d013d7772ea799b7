"""The settings of `train.ppo`, and their defaults for each game."""

from dataclasses import dataclass, field
from typing import Any, get_args

import jaxgames
from jaxgames._specs import split_list
from train.models.policy import Sharing
from train.recipes import PRESETS, RECIPES
from train.settings import (
    ADDED,
    MAX_SEED,
    check_at_most,
    check_not_negative,
    check_positive,
    check_widths,
    default_settings,
)

KL_COEFS = ("kl_coef", "final_kl_coef")
EXAMPLES = {"init_from": "runs/imitation", "kl_coef": "0.1"}  # of settings that others need


@dataclass(frozen=True)
class Config:
    """Settings of learning; they are stored in the run folder."""

    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters."""
    sharing: Sharing = "shared"
    """The networks that the seats share: all, only the encoder, or none."""
    total_steps: int = 400_000
    """Environment steps of the whole run, rounded up to whole iterations; a ply of any seat is a step."""
    seed: int = 0
    """Seed of the random numbers of training."""
    num_envs: int = 20
    """Boards played at once."""
    rollout_length: int = 200
    """Steps of each board in an iteration."""
    update_epochs: int = 10
    """Passes over the steps of an iteration."""
    num_minibatches: int = 16
    """Minibatches per pass; each is one gradient step."""
    learning_rate: float = 3e-4
    """Learning rate of Adam, at the start if it is annealed."""
    anneal_lr: bool = True
    """Lets the learning rate fall linearly to zero over the run."""
    gamma: float = 0.99
    """Discount per decision of a seat."""
    gae_lambda: float = 0.8
    """Lambda of the advantage estimate."""
    clip_coef: float = 0.3
    """Clip range: the probability ratio of an action is clipped to 1 - clip_coef .. 1 + clip_coef."""
    vf_coef: float = 0.5
    """Weight of the value loss."""
    ent_coef: float = 0.1
    """Weight of the entropy bonus."""
    max_grad_norm: float = 0.5
    """Global norm at which gradients are clipped."""
    network: str | None = None
    """The network, with its parameters, such as "resnet(blocks=4)". None: conv if channels are given, else mlp."""
    channels: tuple[int, ...] = ()
    """Channels of the network's convolutions. If empty, the network's own default."""
    hidden_sizes: tuple[int, ...] = ()
    """Widths of the network's dense layers. If empty, the network's own default."""
    activation: str | None = None
    """Activation of the network's dense layers. None: the network's own default."""
    init_from: str | None = None
    """A run to take the first parameters from: its folder, or folder@iteration for an earlier checkpoint."""
    critic_warmup: int = field(default=0, metadata=ADDED)
    """With init_from: iterations at the start in which only the critic learns, and the policy does not change."""
    kl_coef: float | None = field(default=None, metadata=ADDED)
    """With init_from: weight of the KL divergence from the first policy, at the start. None: not computed."""
    final_kl_coef: float | None = field(default=None, metadata=ADDED)
    """With kl_coef: the weight at the end of the run; it changes linearly. None: it stays the same."""
    temperature: float = 1.0
    """Temperature of the policy when it plays after training: 1 samples from it, 0 plays greedily."""
    opponents: tuple[str, ...] = ()
    """Agents that play the other seats, separated by commas, such as random,runs/first@40,self@every=10.
    One is drawn for every game. If empty, the policy plays every seat."""
    opponent_epsilon: float = 0.0
    """Probability that an opponent plays a uniformly random legal action instead of its own."""
    learn_seats: tuple[int, ...] = ()
    """With opponents: the seats that the policy plays and learns from. If empty, one seat is drawn for every game."""

    def __post_init__(self) -> None:
        for name in ("channels", "hidden_sizes", "learn_seats"):  # JSON stores them as lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check_opponents(jaxgames.make(self.env).num_players)
        self._check_pretrained()
        if self.sharing not in get_args(Sharing):
            raise ValueError(f"sharing must be one of {', '.join(get_args(Sharing))}, not {self.sharing!r}")
        check_widths(self, ("channels", "hidden_sizes"))
        check_positive(self, ("total_steps", "num_envs", "rollout_length", "update_epochs", "num_minibatches"))
        check_positive(self, ("learning_rate", "clip_coef", "max_grad_norm"))
        check_not_negative(self, ("vf_coef", "ent_coef", "temperature"))
        check_at_most(self, {"gamma": 1, "gae_lambda": 1, "seed": MAX_SEED})
        if self.num_minibatches > self.steps_per_iteration:
            raise ValueError(
                f"num_minibatches must be at most num_envs * rollout_length = {self.steps_per_iteration}, "
                f"not {self.num_minibatches}"
            )

    def _check_opponents(self, num_players: int) -> None:
        texts = (self.opponents,) if isinstance(self.opponents, str) else self.opponents
        object.__setattr__(self, "opponents", tuple(part for text in texts for part in split_list(text)))
        if not all(self.opponents):
            raise ValueError(f"opponents must be agents separated by commas, not {','.join(self.opponents)!r}")
        if not 0 <= self.opponent_epsilon <= 1:
            raise ValueError(f"opponent_epsilon must be from 0 to 1, not {self.opponent_epsilon}")
        for name in ("opponent_epsilon", "learn_seats"):
            if getattr(self, name) and not self.opponents:
                raise ValueError(f"{name} needs opponents: add --opponents random, or leave {name} out")
        seats = self.learn_seats
        if len({*seats}) < len(seats) or not {*seats} < {*range(num_players)}:
            raise ValueError(
                f"learn_seats must be different seats from 0 to {num_players - 1} and leave one to the opponents, "
                f"not {' '.join(map(str, seats))}"
            )

    def _check_pretrained(self) -> None:
        check_not_negative(self, ("critic_warmup", *(name for name in KL_COEFS if getattr(self, name) is not None)))
        for name, needed in (("critic_warmup", "init_from"), ("kl_coef", "init_from"), ("final_kl_coef", "kl_coef")):
            if getattr(self, name) not in (0, None) and getattr(self, needed) is None:
                flag = f"--{needed.replace('_', '-')} {EXAMPLES[needed]}"
                raise ValueError(f"{name} needs {needed}: add {flag}, or leave {name} out")

    @property
    def steps_per_iteration(self) -> int:
        return self.num_envs * self.rollout_length

    @property
    def minibatch_size(self) -> int:
        return self.steps_per_iteration // self.num_minibatches

    @property
    def num_iterations(self) -> int:
        return -(-self.total_steps // self.steps_per_iteration)


TRACED_SETTINGS = (  # read in traced arithmetic only, so that a sweep compiles once for all their values
    "learning_rate",
    "gamma",
    "gae_lambda",
    "clip_coef",
    "vf_coef",
    "ent_coef",
    "max_grad_norm",
    "kl_coef",
    "final_kl_coef",
    "opponent_epsilon",
)

FORMER_NAMES = {  # of settings, in config.json of older runs
    "num_boards": "num_envs",
    "epochs": "update_epochs",
    "minibatches": "num_minibatches",
    "anneal": "anneal_lr",
    "discount": "gamma",
    "trace_decay": "gae_lambda",
    "clip": "clip_coef",
    "value_weight": "vf_coef",
    "entropy_weight": "ent_coef",
    "hidden": "hidden_sizes",
}


def config_for(env: str | None = None, *, preset: str | None = None, **changes: Any) -> Config:
    """Returns the default settings for a game: its entry in `train.recipes`, with `changes`.

    With another `network`, the settings of the entry's own network are left out.

    Args:
      env: a game as `jaxgames.make` takes it, such as "minichess(rules=king_capture)". None: the preset's, or the
        default of `Config`.
      preset: a name of `train.recipes.PRESETS`, to start from instead of the game's entry.
      **changes: fields of `Config`.

    Raises:
      ValueError: an unknown game, parameter or preset, or a setting that is not allowed.
    """
    given = changes if env is None else changes | {"env": env}
    return Config(**default_settings(env or Config.env, preset, RECIPES, PRESETS, given))
