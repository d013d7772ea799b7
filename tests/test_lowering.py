"""Every program lowers for GPUs and TPUs, so that nothing in it exists for CPUs only. No accelerator is needed."""

from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import pytest

import jaxgames
from train.ppo import PPO, config_for

pytestmark = pytest.mark.usefixtures("every_form")

ACCELERATORS = ("cuda", "tpu")
BATCH = 8


def lower_for_accelerators(program: Any, *arguments: Any) -> str:
    """The text of the program, lowered for both kinds of accelerators at once. Raises where one cannot run it."""
    exported = jax.export.export(jax.jit(program), platforms=ACCELERATORS)(*arguments)
    assert exported.platforms == ACCELERATORS
    return exported.mlir_module()


@pytest.mark.parametrize(
    "game", [*jaxgames.list_games(), pytest.param("minichess(rules=king_capture)", marks=pytest.mark.slow)]
)
def test_batched_game_lowers_for_accelerators(game: str) -> None:
    env = jaxgames.auto_reset(jaxgames.make(game), keep_before_reset=True)

    def play(boards: Any, action: jax.Array, keys: jax.Array) -> Any:
        boards = jax.vmap(env.step)(boards, action, keys)
        of_mask = jax.vmap(jaxgames.random_action)(keys, jax.vmap(env.legal_action_mask)(boards))
        drawn = jax.vmap(env.random_legal_action)(boards, keys), of_mask
        return boards, drawn, jax.vmap(env.observe)(boards), jax.vmap(env.winners)(boards)

    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), BATCH))
    boards = jax.eval_shape(jax.vmap(env.init), keys)
    action = jax.ShapeDtypeStruct((BATCH,), jnp.int32)
    assert "func.func public @main" in lower_for_accelerators(play, boards, action, keys)


@pytest.mark.parametrize(
    "game",
    [
        "dots_and_boxes(rows=2, cols=2)",  # convolutions, and dense layers behind them
        pytest.param("chinese_checkers(size=2)", marks=pytest.mark.slow),  # dense layers only
    ],
)
def test_iteration_of_ppo_lowers_for_accelerators(game: str) -> None:
    config = config_for(game, num_envs=BATCH, rollout_length=6, num_minibatches=2, update_epochs=2)
    ppo = PPO(config)
    train_state = jax.eval_shape(ppo.init, jax.eval_shape(lambda: jax.random.key(0)))
    assert "func.func public @main" in lower_for_accelerators(ppo.iterate, train_state)
