"""The graph network: symmetric by construction, the same parameters on every board, and what it does not look at."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.rules import boxes
from tests.helpers.networks import random_leaves
from tests.helpers.positions import compiled
from train.models.policy import Policy
from train.ops.symmetries import symmetries

NETWORKS = {  # by name: sizes of a test
    "graph": "graph(rounds=2, width=5)",
    "chains": "graph(rounds=2, width=8, chains=True)",
    "resnet": "resnet(blocks=1, channels=5, pool=True)",
}
ROWS = 16
BOARDS = ("dots_and_boxes(rows=2, cols=2, reward=boxes)", "dots_and_boxes(rows=2, cols=3, reward=boxes)")


@functools.cache
def make(board: str) -> DotsAndBoxes:
    env = jaxgames.make(board)
    assert isinstance(env, DotsAndBoxes)
    return env


@functools.cache
def parameters(network: str, reward: str = "boxes") -> Any:
    """Parameters without zeros, made for 3 x 3 boxes."""
    policy = Policy.of(make(f"dots_and_boxes(rows=3, cols=3, reward={reward})"), "shared", network)
    return random_leaves(jax.eval_shape(policy.init, jax.random.key(0)), divisor=2)


def apply(board: str, network: str, observation: Any) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values of up to ROWS observations, which are padded, so that tests of a board share a program."""
    env, rows = make(board), len(observation)
    params = parameters(network, env.reward)
    policy = Policy.of(env, "shared", network)
    padded = np.zeros((ROWS, *env.observation_shape), np.bool_)
    padded[:rows] = observation
    logits, values = jax.device_get(_apply(policy, params, padded, np.zeros(ROWS, np.int32)))
    return logits[:rows], values[:rows]


@functools.partial(jax.jit, static_argnums=0)
def _apply(policy: Policy, params: Any, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
    return policy.apply(params, observation, seat)


def observe(env: DotsAndBoxes, *texts: str) -> np.ndarray:
    """Observations of states as text: edges, owners, seat."""
    return np.stack([compiled(env).look(env.from_string(text)).mover for text in texts])


def random_observations(board: str, count: int) -> np.ndarray:
    """Any drawn edges, and any owners of the complete boxes."""
    env, rng, texts = make(board), np.random.default_rng(1), list[str]()
    for _ in range(count):
        drawn = rng.random(env.num_edges) < 0.7
        complete = [drawn[list(box)].all() for box in boxes(env)]
        owners = "".join(str(rng.integers(2)) if taken else "." for taken in complete)
        texts.append(f"{''.join('01'[bit] for bit in drawn.astype(int))} {owners} 0")
    return observe(env, *texts)


@pytest.mark.parametrize("board", [BOARDS[0], pytest.param(BOARDS[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("network", ["chains", pytest.param("graph", marks=pytest.mark.slow)])
def test_mirrored_and_rotated_boards_have_the_same_logits_there_and_the_same_value(board: str, network: str) -> None:
    env, images = make(board), symmetries(make(board))
    observation = random_observations(board, ROWS)
    assert len(images) == (8 if env.rows == env.cols else 4)
    logits, values = apply(board, NETWORKS[network], observation)
    assert logits.std() > 0.1
    assert values.std() > 0.03
    move = jax.jit(images.of_observations)
    for image in range(len(images)):
        moved = move(np.full(ROWS, image), observation)
        logits_of_image, values_of_image = apply(board, NETWORKS[network], moved)
        np.testing.assert_allclose(logits_of_image[:, images.action[image]], logits, atol=1e-5)
        np.testing.assert_allclose(values_of_image, values, atol=1e-5)


@pytest.mark.parametrize("network", ["chains", pytest.param("graph", marks=pytest.mark.slow), "resnet"])
def test_parameters_have_the_same_shapes_on_every_board(network: str) -> None:
    expected = jax.tree.map(np.shape, parameters(NETWORKS[network]))  # of 3 x 3 boxes
    for board in ("dots_and_boxes(rows=1, cols=1, reward=boxes)", "dots_and_boxes(rows=2, cols=4, reward=boxes)"):
        policy = Policy.of(make(board), "shared", NETWORKS[network])
        assert policy.network.any_board
        assert jax.tree.map(jnp.shape, jax.eval_shape(policy.init, jax.random.key(0))) == expected
    assert not Policy.of(make(BOARDS[0]), "shared", "resnet(blocks=1, channels=5)").network.any_board
    assert not Policy.of(make(BOARDS[0]), "shared", "mlp").network.any_board


def test_one_round_is_that_written_with_loops_over_the_boxes() -> None:
    board, network = BOARDS[1], "graph(rounds=1, width=5)"
    env, params = make(board), parameters(network)["encoder"]["params"]
    observation = random_observations(board, 3)
    encoder = Policy.of(env, "shared", network).network.encoder
    found = jax.device_get(jax.jit(encoder.apply)({"params": params}, observation))
    of_round = params["Round_0"]

    def dense(layer: Any, x: np.ndarray) -> np.ndarray:
        return x @ layer["kernel"] + layer["bias"]

    def part(number: int, x: np.ndarray) -> np.ndarray:
        return dense(of_round[f"FlatDense_{number}"]["Dense_0"], x)

    def norm(number: int, x: np.ndarray) -> np.ndarray:
        layer = of_round[f"LayerNorm_{number}"]
        return (x - x.mean()) / np.sqrt(x.var() + 1e-6) * layer["scale"] + layer["bias"]

    def relu(x: np.ndarray) -> np.ndarray:
        return np.maximum(x, 0)

    cells = [(2 * r, 2 * c + 1) for r in range(3) for c in range(3)]
    cells += [(2 * r + 1, 2 * c) for r in range(2) for c in range(4)]
    for row, seen in zip(found, observation, strict=True):
        drawn = [bool(seen[cell][0]) for cell in cells]
        missing = [sum(not drawn[edge] for edge in box) for box in boxes(env)]
        whole = norm(0, dense(params["Dense_1"], np.array([drawn.count(False) % 2, np.count_nonzero(missing) % 2])))
        edge_state, before = np.zeros(5), norm(1, np.zeros(5))  # of every open edge
        box_state: list[np.ndarray] = []
        for box, lacks in zip(boxes(env), missing, strict=True):
            start = dense(params["Dense_0"], np.eye(4)[4 - lacks]) if lacks else np.zeros(5)
            message = sum((before for edge in box if not drawn[edge]), np.zeros(5))
            new = start + relu(part(0, norm(2, start)) + part(1, message) + part(2, whole))
            box_state.append(new if lacks else np.zeros(5))
        of_boxes = [norm(3, state) if lacks else np.zeros(5) for state, lacks in zip(box_state, missing, strict=True)]
        for edge in range(env.num_edges):
            beside = sum((part(4, of_boxes[i]) for i, box in enumerate(boxes(env)) if edge in box), np.zeros(5))
            new = edge_state + relu(part(3, before) + beside + part(5, whole))
            np.testing.assert_allclose(row[edge, :5], new * (not drawn[edge]), rtol=1e-4, atol=1e-5)
        for box, state in enumerate(box_state):
            np.testing.assert_allclose(row[env.num_edges + box, :5], state, rtol=1e-4, atol=1e-5)


def test_value_is_the_margin_to_go_alone_or_with_the_lead_as_the_reward_counts() -> None:
    board = "dots_and_boxes(rows=1, cols=2, reward={})"
    full = ("1111111 00 0", "1111111 01 0", "1111111 11 0")  # by 2, 0 and -2 boxes ahead
    one_open = ("1011110 1. 0", "1011110 0. 0")  # 1 behind and 1 ahead

    def values(reward: str) -> np.ndarray:
        observation = observe(make(board.format(reward)), *full, *one_open)
        return apply(board.format(reward), NETWORKS["graph"], observation)[1]

    to_go = values("boxes") * 2  # in boxes: the largest reward of one edge is 2
    assert to_go[:3].tolist() == [0, 0, 0]
    assert to_go[3] == to_go[4]
    assert 0.01 < abs(to_go[3]) < 1
    lead = np.array([2, 0, -2, -1, 1])
    np.testing.assert_allclose(values("margin") * 2, lead + to_go, atol=1e-5)
    won = values("win_loss")
    assert (np.sign(won) == np.sign(lead + to_go)).all()
    assert won[0] == -won[2] < 1
