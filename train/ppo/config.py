"""The settings of `train.ppo`, and their defaults for each game."""

from dataclasses import dataclass
from typing import ClassVar

import jax

import jaxgames
from jaxgames._specs import split_list
from jaxgames.policies.policy import is_symmetric
from train.bounds import Count, NotNegative, Positive, Share
from train.models.layers import ComputeDtype
from train.models.policy import Sharing
from train.settings import NetworkConfig

NEEDED = {  # by settings that have no effect without another one: this one, as a flag
    "critic_warmup": ("init_from", "--init-from runs/imitation"),
    "kl_coef": ("init_from", "--init-from runs/imitation"),
    "final_kl_coef": ("kl_coef", "--kl-coef 0.1"),
    "opponent_epsilon": ("opponents", "--opponents random"),
    "learn_seats": ("opponents", "--opponents random"),
}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Numbers:
    """The settings that only traced arithmetic reads: `jax.vmap` works over them, and a sweep compiles once."""

    learning_rate: Positive[float] = 3e-4
    """Learning rate of Adam, at the start if it is annealed."""
    gamma: Share[float] = 0.99
    """Discount per decision of a seat."""
    gae_lambda: Share[float] = 0.8
    """Lambda of the advantage estimate."""
    clip_coef: Positive[float] = 0.3
    """Clip range: the probability ratio of an action is clipped to 1 - clip_coef .. 1 + clip_coef."""
    vf_coef: NotNegative[float] = 0.5
    """Weight of the value loss."""
    vf_clip: Positive[float | None] = None
    """Largest squared error of a value that is learned from, where rewards are scaled. None: all are learned from."""
    ent_coef: NotNegative[float] = 0.1
    """Weight of the entropy bonus."""
    max_grad_norm: Positive[float] = 0.5
    """Global norm at which gradients are clipped."""
    kl_coef: NotNegative[float | None] = None
    """With init_from: weight of the KL divergence from the first policy, at the start. None: not computed."""
    final_kl_coef: NotNegative[float | None] = None
    """With kl_coef: the weight at the end of the run; it changes linearly. None: it stays the same."""
    step_kl_coef: Positive[float | None] = None
    """Weight of the KL divergence from the policy that collected the steps, at the start. After an iteration whose mean
    divergence is above twice target_kl it is multiplied by 1.5, below half of it by 0.5. None: no penalty."""
    target_kl: Positive[float] = 0.01
    """With step_kl_coef: the divergence that the weight is adapted to."""
    opponent_epsilon: Share[float] = 0.0
    """Probability that an opponent plays a uniformly random legal action instead of its own."""


@dataclass(frozen=True)
class Config(Numbers, NetworkConfig):
    """Settings of learning; they are stored in the run folder."""

    numbers_type: ClassVar[type[Numbers]] = Numbers

    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters."""
    sharing: Sharing = "shared"
    """The networks that the seats share: all, only the encoder, or none."""
    compute_dtype: ComputeDtype = "float32"
    """Arithmetic of the network's layers before its heads: float32, or bfloat16 for accelerators, with the networks mlp
    and conv. Parameters, heads and losses are float32."""
    total_steps: Count[int] = 400_000
    """Environment steps of the whole run, rounded up to whole iterations; a ply of any seat is a step."""
    num_envs: Count[int] = 20
    """Boards played at once."""
    rollout_length: Count[int] = 200
    """Steps of each board in an iteration."""
    update_epochs: Count[int] = 10
    """Passes over the steps of an iteration."""
    num_minibatches: Count[int] = 16
    """Minibatches per pass; each is one gradient step."""
    anneal_lr: bool = True
    """Lets the learning rate fall linearly to zero over the run."""
    critic_warmup: NotNegative[int] = 0
    """With init_from: iterations at the start in which only the critic learns, and the policy does not change."""
    temperature: NotNegative[float] = 1.0
    """Temperature of the policy when it plays after training: 1 samples from it, 0 plays greedily."""
    opponents: tuple[str, ...] = ()
    """Agents that play the other seats, separated by commas, such as random,runs/first@40,self@every=10.
    One is drawn for every game. If empty, the policy plays every seat."""
    learn_seats: tuple[int, ...] = ()
    """With opponents: the seats that the policy plays and learns from. If empty, one seat is drawn for every game."""

    def __post_init__(self) -> None:
        texts = (self.opponents,) if isinstance(self.opponents, str) else self.opponents
        object.__setattr__(self, "opponents", tuple(part for text in texts for part in split_list(text)))
        super().__post_init__()
        if not all(self.opponents):
            raise ValueError(f"opponents must be agents separated by commas, not {','.join(self.opponents)!r}")
        for name, (needed, flag) in NEEDED.items():
            if getattr(self, name) and not getattr(self, needed):
                raise ValueError(f"{name} needs {needed}: add {flag}, or leave {name} out")
        env = jaxgames.make(self.env)
        seats = self.learn_seats
        if len({*seats}) < len(seats) or not {*seats} < {*range(env.num_players)}:
            raise ValueError(
                f"learn_seats must be different seats from 0 to {env.num_players - 1} and leave one to the opponents, "
                f"not {' '.join(map(str, seats))}"
            )
        if self.rollout_length < env.num_players and not is_symmetric(env):
            raise ValueError(
                f"rollout_length must be at least {env.num_players}, the seats of {env}, not {self.rollout_length}: "
                "the last decision of a seat before the end of a rollout is not learned from"
            )
        if self.num_minibatches > self.steps_per_iteration:
            raise ValueError(
                f"num_minibatches must be at most num_envs * rollout_length = {self.steps_per_iteration}, "
                f"not {self.num_minibatches}"
            )

    @property
    def steps_per_iteration(self) -> int:
        return self.num_envs * self.rollout_length

    @property
    def minibatch_size(self) -> int:
        return self.steps_per_iteration // self.num_minibatches
