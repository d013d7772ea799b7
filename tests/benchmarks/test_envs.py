"""benchmarks.envs replays legal actions."""

import jax

import jaxgames
from benchmarks.envs import recorded_actions

BOXES = "dots_and_boxes(rows=1, cols=1)"


def test_recorded_actions_are_legal_when_replayed() -> None:
    env = jaxgames.auto_reset(jaxgames.make(BOXES))
    actions = recorded_actions(jaxgames.make(BOXES), 2, 30)
    step, mask = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.legal_action_mask))
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(5), 2))
    for action in actions:
        assert mask(boards)[[0, 1], action].all()
        boards = step(boards, action)
