"""The settings of `train.alphazero`, and their defaults for each game."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import jax

import jaxgames
from jaxgames.mcts import SearchConfig
from jaxgames.mcts.config import Seats, SelectionRule
from train.bounds import Bounds, Count, NotNegative, Positive, Share
from train.settings import NetworkConfig, check_same_game


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Numbers:
    """The settings that only traced arithmetic reads: `jax.vmap` works over them, and a sweep compiles once."""

    td_lambda: Share[float] = 0.9
    """Lambda of the value targets: 1 for the outcome of the game, 0 for the search's value of the next board."""
    learning_rate: Positive[float] = 2e-3
    """Learning rate of Adam at the start."""
    final_learning_rate: NotNegative[float] = 1e-4
    """Learning rate at the end of the run; it changes linearly, unless there is a drop."""
    value_coef: NotNegative[float] = 1.0
    """Weight of the value loss."""
    l2_coef: NotNegative[float] = 0.0
    """Weight of the sum of the squared parameters in the loss."""
    weight_decay: NotNegative[float] = 1e-4
    """Weight decay of AdamW, apart from the loss."""
    max_grad_norm: Positive[float] = 1.0
    """Global norm at which gradients are clipped."""


@dataclass(frozen=True)
class Config(Numbers, NetworkConfig):
    """Settings of learning; they are stored in the run folder."""

    numbers_type: ClassVar[type[Numbers]] = Numbers

    env: str = "chinese_checkers_diamond(size=4, pieces=3)"
    """The game, with its parameters."""
    other_envs: tuple[str, ...] = ()
    """Further boards of the game that the same network learns in the same run. It needs a network for any board."""
    total_steps: Count[int] = 1_000_000
    """Environment steps of the whole run, of all boards, rounded up to whole iterations; a ply is a step."""
    num_envs: Count[int] = 256
    """Boards of each game played at once."""
    rollout_length: Count[int] = 32
    """Steps of each board in an iteration; there is one search per step."""
    search: SelectionRule = "gumbel"
    """The rule of the search: Gumbel AlphaZero, PUCT as in AlphaZero, or Gumbel in two calls of the network. After
    two_calls, agents play with gumbel."""
    simulations: int = 16
    """Simulations of a search in self-play."""
    slots: int | None = None
    """Legal actions with the highest logits that a node of the tree can try. None: 64, or all of a game with fewer."""
    max_considered: int = 16
    """With the search gumbel: the actions that are tried at the root."""
    gumbel_scale: float = 1.0
    """With the search gumbel: scale of the noise at the root in self-play. 0 plays deterministically."""
    dirichlet_fraction: float = 0.25
    """With the search puct: share of Dirichlet noise in the root's prior probabilities in self-play."""
    dirichlet_alpha: float = 10.0
    """With the search puct: the concentration of the noise is this number / the number of legal actions."""
    forced_playouts: float = 0.0
    """With the search puct: k of forced playouts at the root in self-play, which the learned policy leaves out. KataGo
    has 2, 0 is none."""
    seats: Seats = "paranoid"
    """With more than two seats: whether the others act against the root's seat (paranoid) or for themselves (max_n)."""
    gamma: Share[float] = 0.98
    """Discount each time that another seat moves next, in the search and in the value targets."""
    truncation_is_draw: bool = False
    """True: a game that a limit cuts off is a draw. False: its last board counts with the network's value."""
    sampled_plies: NotNegative[int] = 0
    """First steps of a game whose actions are sampled from the search's policy. Later ones are the search's choice."""
    random_moves: Share[float] = 0.0
    """Share of the steps of self-play whose action is drawn from all legal ones. Earlier value targets do not use what
    follows."""
    random_starts: Share[float] = 0.0
    """Share of the games of self-play that start from a random position."""
    random_plies: Count[int] = 40
    """The largest number of random steps before such a position, in games without random placements of pieces."""
    symmetries: bool = True
    """Replaces each sample of an update by its image under a random symmetry of the game."""
    replay_size: int = 300_000
    """Samples in the replay buffer of a game, rounded down to whole iterations."""
    num_updates: Count[int] = 24
    """Gradient steps per iteration and game."""
    minibatch_size: Count[int] = 1024
    """Samples of a gradient step, drawn from the replay buffer."""
    lr_drop_after: Count[int | None] = None
    """Iterations after which the learning rate drops from its first to its final value. None: it changes linearly."""
    ema: Annotated[float, Bounds("at least 0 and less than 1", lambda x: 0 <= x < 1)] = 0.999
    """Decay of the moving average of the parameters, which plays after training. 0: the parameters themselves play."""
    evaluation_simulations: NotNegative[int] = 0
    """Simulations of the search when the agent plays after training. 0: the network alone."""
    temperature: NotNegative[float] = 0.0
    """Temperature of the agent after training: 1 samples from its policy, 0 plays greedily."""

    def __post_init__(self) -> None:
        super().__post_init__()
        boards = [jaxgames.make(text) for text in (self.env, *self.other_envs)]
        for number, text in enumerate(self.other_envs, start=1):
            check_same_game("other_envs", boards[0], boards[number], text)
            if boards[number] in boards[:number]:
                raise ValueError(f"env and other_envs must be different boards: {text} is there twice")
        samples = self.num_envs * self.rollout_length  # of a game in an iteration
        if self.replay_size < samples:
            least = f"num_envs * rollout_length = {samples}"
            raise ValueError(f"replay_size must be at least {least}, not {self.replay_size}")
        if self.forced_playouts > 0 and self.search != "puct":
            raise ValueError("forced_playouts needs --search puct")
        _ = self.self_play_search  # checks its settings

    @property
    def steps_per_iteration(self) -> int:
        return self.num_envs * self.rollout_length * (1 + len(self.other_envs))

    @property
    def self_play_search(self) -> SearchConfig:
        """The search of self-play, with noise at the root."""
        noise = {"gumbel_scale": self.gumbel_scale}
        if self.search == "puct":
            noise = {
                "dirichlet_fraction": self.dirichlet_fraction,
                "dirichlet_alpha": self.dirichlet_alpha,
                "forced_playouts": self.forced_playouts,
            }
        return replace(self.search_without_noise(self.simulations), **noise)

    def search_without_noise(
        self,
        simulations: int,
        search: SelectionRule | None = None,
        seats: Seats | None = None,
    ) -> SearchConfig:
        """Returns a search without noise at the root; a rule or seats of None are those of self-play."""
        return SearchConfig(
            simulations=simulations,
            search=search or self.search,
            slots=self.slots,
            max_considered=self.max_considered,
            gamma=self.gamma,
            seats=seats or self.seats,
        )
