"""Default settings of `train.ppo`, `train.alphazero` and `train.imitation`, by game, and presets of studies.

On boards that are grids, PPO has 3 x 3 convolutions before the dense layers. AlphaZero has residual dense layers: its
search evaluates many positions, and convolutions would take most of the time on a CPU. A game without an entry trains
with the defaults of the learner's `Config`. docs/training/ppo.md and docs/training/alphazero.md show results of each.
"""

from typing import Any

GRID: dict[str, Any] = {  # settings common to all boards that are grids
    "channels": (16, 16),
    "hidden_sizes": (128,),
    "num_envs": 256,
    "rollout_length": 64,
    "update_epochs": 3,
    "learning_rate": 5e-4,
    "gae_lambda": 0.9,
    "ent_coef": 0.02,
    "temperature": 0.0,
}
RECIPES: dict[str, dict[str, Any]] = {
    "checkers": GRID | {"total_steps": 2_000_000},
    "chinese_checkers": {},
    "chinese_checkers_diamond": GRID | {"total_steps": 500_000},
    "dots_and_boxes": GRID | {"total_steps": 1_500_000},
    "minichess": GRID | {"total_steps": 2_500_000, "learning_rate": 1e-3, "gae_lambda": 0.95, "gamma": 0.995},
}

STAR: dict[str, Any] = {  # settings common to the star boards of size 3 and 4 with six seats
    "num_envs": 128,
    "rollout_length": 128,
    "update_epochs": 4,
    "num_minibatches": 8,
    "learning_rate": 2e-4,
    "gamma": 0.995,
    "gae_lambda": 0.9,
    "clip_coef": 0.2,
    "ent_coef": 0.0,
    "temperature": 0.5,
    "opponents": ("greedy",) * 7 + ("random",),  # games against random players take three times as many steps
}

# Settings of studies and of further training, by the names that `--preset` takes. Settings that a study does not state
# are the defaults of `train.ppo.Config`. A preset without a game changes the recipe of the game that is played.
PRESETS: dict[str, dict[str, Any]] = {
    # For a GPU or TPU. Its minibatches are few and large: a device computes a small one faster than it starts the next
    # operation.
    "accelerator": {
        "num_envs": 2048,
        "rollout_length": 64,
        "num_minibatches": 8,
        "learning_rate": 5e-3,
        "compute_dtype": "bfloat16",
    },
    "alpha_mini": {  # Sun and Tan 2021, section 4.1, with the best gamma and lambda of their Table 1
        "env": "minichess(rules=king_capture, reward=material)",
        "network": "alpha_mini",
        "total_steps": 50_000,
        "num_envs": 20,
        "rollout_length": 50,  # batches of 1,000 half-moves
        "num_minibatches": 10,  # of 100
        "learning_rate": 1e-5,
        "anneal_lr": False,
        "gamma": 0.3,
        "gae_lambda": 1.0,
        "ent_coef": 0.0,
        "temperature": 0.0,
        "opponents": ("random",),
        "learn_seats": (0,),
    },
    # From a policy of `train.imitation`, which --init-from names: small steps, near that policy at first.
    "from_imitation": GRID
    | {
        "env": "checkers",
        "network": "diagonal_mlp",  # as in the recipe of `train.imitation`, without dropout
        "hidden_sizes": (),
        "channels": (),
        "total_steps": 3_000_000,
        "learning_rate": 1e-4,
        "clip_coef": 0.1,
        "ent_coef": 0.003,
        "gamma": 0.995,
        "gae_lambda": 0.95,
        "critic_warmup": 8,
        "kl_coef": 0.1,
        "final_kl_coef": 0.01,
    },
    # The boards on which the agents of Adhikari and Gu 2024, section 4.5, did not finish their games
    "star_3": STAR
    | {"env": "chinese_checkers(size=3, reward=win_loss)", "network": "hops(center=0.3)", "total_steps": 12_000_000},
    "star_4": STAR
    | {"env": "chinese_checkers(size=4, reward=win_loss)", "network": "hops(center=0.3)", "total_steps": 20_000_000},
    # Adhikari and Gu 2024: section 3.2.1, and the defaults of RLlib 2.8, which its scripts leave as they are.
    "parameter_sharing_paper": {
        "env": "chinese_checkers(size=2, num_players=6, max_rounds=400)",
        "hidden_sizes": (64, 64),
        "activation": "relu",
        "total_steps": 400_000,
        "num_envs": 2,  # the workers
        "rollout_length": 2000,
        "update_epochs": 30,
        "num_minibatches": 31,  # of 129 steps of all seats; there 128 steps of each network
        "learning_rate": 5e-5,
        "anneal_lr": False,
        "gamma": 0.99,
        "gae_lambda": 1.0,
        "clip_coef": 0.3,
        "vf_coef": 204.06,  # 1 there; 2 * 10.1 ** 2, for half the squared error of rewards divided by 10.1
        "vf_clip": 0.098,  # 10 there
        "step_kl_coef": 0.2,
        "target_kl": 0.01,
        "ent_coef": 0.0,
        "max_grad_norm": 1e6,  # gradients are not clipped
    },
}

# -- train.alphazero -----------------------------------------------------------------------------------------------

ALPHAZERO_GRID: dict[str, Any] = {  # settings common to games on a grid that is not small
    "network": "residual_mlp(blocks=2)",
    "hidden_sizes": (256,),
    "learning_rate": 1e-3,
    "gamma": 0.99,
    "sampled_plies": 10,
    "random_starts": 0.1,
}
ALPHAZERO: dict[str, dict[str, Any]] = {
    "checkers": ALPHAZERO_GRID | {"total_steps": 1_000_000, "slots": 24},
    "chinese_checkers": {
        "total_steps": 1_000_000,
        "hidden_sizes": (256, 256),
        "activation": "relu",
        "slots": 48,
        "learning_rate": 1e-3,
        "gamma": 0.995,
        "random_starts": 0.1,
    },
    "chinese_checkers_diamond": {
        "total_steps": 2_000_000,
        "network": "residual_mlp(blocks=2)",
        "hidden_sizes": (512,),
        "slots": 32,
        "num_updates": 32,
        "random_starts": 0.7,
    },
    "dots_and_boxes": ALPHAZERO_GRID | {"total_steps": 1_000_000, "gamma": 1.0, "random_starts": 0.3},
    "minichess": ALPHAZERO_GRID | {"total_steps": 2_000_000, "slots": 48},
}

ALPHAZERO_PRESETS: dict[str, dict[str, Any]] = {
    # Ahmad, Sturtevant and Bowling. The study collects 800 games per iteration, this loop steps: 384 boards of 50 steps
    # are 800 games of 24 steps each. Settings that the text does not state are the defaults of
    # `train.alphazero.Config`; the sampled steps are as in Silver et al. 2017.
    "paper": {
        "env": "chinese_checkers_diamond(size=4, pieces=3, max_plies=50)",
        "total_steps": 50 * 384 * 50,
        "num_envs": 384,
        "rollout_length": 50,
        "search": "puct",
        "simulations": 256,
        "evaluation_simulations": 1024,
        "slots": 20,
        "gamma": 1.0,
        "td_lambda": 1.0,
        "truncation_is_draw": True,
        "sampled_plies": 30,
        "symmetries": False,
        "replay_size": 384 * 50,  # the games of the iteration
        "num_updates": 75,
        "minibatch_size": 256,
        "learning_rate": 1e-4,
        "final_learning_rate": 1e-5,
        "lr_drop_after": 20,
        "l2_coef": 1e-5,
        "weight_decay": 0.0,
        "ema": 0.0,
        "network": "resnet",
    },
    # From a policy of `train.imitation`, which --init-from names. PUCT stays nearer to it than Gumbel: where the values
    # hardly differ, its visits follow the policy.
    "from_imitation": ALPHAZERO_GRID
    | {
        "env": "checkers",
        "network": "diagonal_mlp",  # as in the recipe of `train.imitation`, without dropout
        "hidden_sizes": (),
        "total_steps": 1_000_000,
        "slots": 24,
        "search": "puct",
        "simulations": 24,
        "learning_rate": 3e-4,
        "final_learning_rate": 3e-5,
    },
    # One network for every board of Dots and Boxes. Small minibatches suit a CPU: the gradient of a graph network takes
    # half the time per sample there. The network is symmetric itself.
    "every_board": {
        "env": "dots_and_boxes(rows=3, cols=3, reward=boxes)",
        "other_envs": ("dots_and_boxes(rows=4, cols=4, reward=boxes)",),
        "network": "graph(width=32)",
        "total_steps": 600_000,
        "num_envs": 64,
        "num_updates": 32,
        "minibatch_size": 128,
        "replay_size": 60_000,
        "gamma": 1.0,
        "sampled_plies": 10,
        "random_starts": 0.3,
        "symmetries": False,
    },
}

# -- train.imitation -----------------------------------------------------------------------------------------------

IMITATION: dict[str, dict[str, Any]] = {
    "checkers": {
        "network": "diagonal_mlp(dropout=0.3)",
        "total_steps": 10_000_000,
        "weight_decay": 0.05,
        "value_coef": 0.25,
        "legal_coef": 0.5,
    },
}
IMITATION_PRESETS: dict[str, dict[str, Any]] = {
    "larson": {  # of the code; there the learning rate falls after epochs that bring nothing
        "env": "checkers",
        "network": "larson",
        "total_steps": 19_200_000,
        "batch_size": 128,
        "schedule": "constant",
        "weight_decay": 0.0,
        "l2_coef": 5e-8,  # 1e-7 times half of the squared weights
        "max_grad_norm": 1e6,  # gradients are not clipped
        "value_coef": 0.0,  # the study has no value
        "legal_coef": 1.0,  # the loss is over all actions
    },
}

# -- the demo ------------------------------------------------------------------------------------------------------

DEMO: dict[str, Any] = {  # of examples/demo.py: a longer run of a wider network than the game's entry
    "env": "chinese_checkers(size=2, num_players=6)",
    "total_steps": 1_500_000,
    "num_envs": 128,
    "rollout_length": 64,
    "update_epochs": 3,
    "num_minibatches": 16,
    "learning_rate": 5e-4,
    "gae_lambda": 0.8,
    "clip_coef": 0.3,
    "ent_coef": 0.2,
    "hidden_sizes": (128, 128),
    "temperature": 0.0,  # greedy play, because the policy itself still explores
}
