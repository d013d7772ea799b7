"""The graph network of Dots and Boxes beside loops over the boxes, and chains beside those found box by box."""

import itertools
from typing import Any

import jax
import numpy as np

import jaxgames
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.rules import boxes
from tests.helpers.networks import random_leaves
from train.models.box_chains import KEPT_OF_CHAIN, KEPT_OF_LOOP, LONG, LONGEST, Chains, chains
from train.models.policy import Policy

# -- the network -------------------------------------------------------------------------------------------------------


def observe(env: DotsAndBoxes, *texts: str) -> np.ndarray:
    """Observations of states as text: edges, owners, seat."""
    return np.stack([env.observe(env.from_string(text)) for text in texts])


def random_observations(env: DotsAndBoxes, count: int) -> np.ndarray:
    """Any drawn edges, and any owners of the complete boxes."""
    rng, texts = np.random.default_rng(1), list[str]()
    for _ in range(count):
        drawn = rng.random(env.num_edges) < 0.7
        owners = "".join(str(rng.integers(2)) if drawn[list(box)].all() else "." for box in boxes(env))
        texts.append(f"{''.join('01'[bit] for bit in drawn.astype(int))} {owners} 0")
    return observe(env, *texts)


def parameters(policy: Policy) -> Any:
    """Parameters without zeros."""
    return random_leaves(jax.eval_shape(policy.init, jax.random.key(0)), divisor=2)


def test_one_round_is_that_written_with_loops_over_the_boxes() -> None:
    env: Any = jaxgames.make("dots_and_boxes(rows=2, cols=3, reward=boxes)")
    policy, observation = Policy.of(env, "shared", "graph(rounds=1, width=5)"), random_observations(env, 3)
    params = parameters(policy)["encoder"]["params"]
    found = jax.device_get(jax.jit(policy.network.encoder.apply)({"params": params}, observation))
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
    full = ("1111111 00 0", "1111111 01 0", "1111111 11 0")  # by 2, 0 and -2 boxes ahead
    one_open = ("1011110 1. 0", "1011110 0. 0")  # 1 behind and 1 ahead

    def values(reward: str) -> np.ndarray:
        env: Any = jaxgames.make(f"dots_and_boxes(rows=1, cols=2, reward={reward})")
        policy, observation = Policy.of(env, "shared", "graph(rounds=2, width=5)"), observe(env, *full, *one_open)
        return np.asarray(jax.jit(policy.apply)(parameters(policy), observation, np.zeros(5, np.int32))[1])

    to_go = values("boxes") * 2  # in boxes: the largest reward of one edge is 2
    assert to_go[:3].tolist() == [0, 0, 0]
    assert to_go[3] == to_go[4]
    assert 0.01 < abs(to_go[3]) < 1
    lead = np.array([2, 0, -2, -1, 1])
    np.testing.assert_allclose(values("margin") * 2, lead + to_go, atol=1e-5)
    won = values("win_loss")
    assert (np.sign(won) == np.sign(lead + to_go)).all()
    assert won[0] == -won[2] < 1


# -- chains ------------------------------------------------------------------------------------------------------------

ROWS, COLS = 3, 4
NUM_ACROSS, NUM_DOWN = (ROWS + 1) * COLS, ROWS * (COLS + 1)
Box = tuple[int, int]

features: Any = jax.jit(chains)


def of(edges: np.ndarray) -> Chains:
    """The features of boards from their drawn edges, bool[B, edges]."""
    across, down = edges[:, :NUM_ACROSS], edges[:, NUM_ACROSS:]
    return jax.device_get(features(across.reshape(-1, ROWS + 1, COLS), down.reshape(-1, ROWS, COLS + 1)))


def sides(row: int, col: int) -> dict[Box, int]:
    """The edge of a box towards each place beside it."""
    right = NUM_ACROSS + row * (COLS + 1) + col
    above = row * COLS + col
    return {(row - 1, col): above, (row + 1, col): above + COLS, (row, col - 1): right, (row, col + 1): right + 1}


def found_chains(drawn: np.ndarray) -> list[set[Box]]:
    """The chains of one board, by walking from box to box through open edges."""
    left = {box for box in np.ndindex(ROWS, COLS) if sum(drawn[edge] for edge in sides(*box).values()) in (2, 3)}
    found: list[set[Box]] = []
    while left:
        chain, waiting = set[Box](), [left.pop()]
        while waiting:
            box = waiting.pop()
            chain.add(box)
            beside = {other for other, edge in sides(*box).items() if not drawn[edge]} & left
            left -= beside
            waiting += beside
        found.append(chain)
    return found


def test_features_are_those_of_chains_found_box_by_box() -> None:
    rng = np.random.default_rng(0)
    boards = rng.random((500, NUM_ACROSS + NUM_DOWN)) < rng.uniform(0.3, 0.8, (500, 1))
    snake = [(row, col if row % 2 == 0 else COLS - 1 - col) for row in range(ROWS) for col in range(COLS)]
    boards[0] = True
    boards[0, [sides(*box)[after] for box, after in itertools.pairwise(snake)]] = False
    result, lengths, loops = of(boards), set[int](), 0
    for drawn, of_boxes, of_edges, of_board in zip(boards, *result, strict=True):
        counts = {box: int(sum(drawn[edge] for edge in sides(*box).values())) for box in np.ndindex(ROWS, COLS)}
        expected_boxes, control, numbers, started_chains = np.zeros((ROWS * COLS, LONGEST + 3)), 0.0, [0] * 4, 0
        given = dict.fromkeys(counts, 0)
        for chain in found_chains(drawn):
            size, started = len(chain), any(counts[box] == 3 for box in chain)
            inside = [{*sides(*box)} & chain for box in chain]
            joined = [
                sum(not drawn[sides(*box)[other]] for other in others)
                for box, others in zip(chain, inside, strict=True)
            ]
            is_loop = min(joined) == 2
            for row, col in chain:
                expected_boxes[row * COLS + col, [min(size, LONGEST) - 1]] = 1
                expected_boxes[row * COLS + col, LONGEST:] = size / 8, is_loop, started
                given[row, col] = size
            if size >= LONG and not started:
                numbers[is_loop] += 1
                control += (size - (KEPT_OF_LOOP if is_loop else KEPT_OF_CHAIN)) / 8
            numbers[2] += size == 1
            numbers[3] += size == 2
            started_chains += started
            lengths.add(size)
            loops += is_loop
        np.testing.assert_allclose(of_boxes, expected_boxes, atol=1e-6)
        beside = {edge: [box for box in counts if edge in sides(*box).values()] for edge in range(len(drawn))}
        expected_edges = [
            (0, 0, 0)
            if drawn[edge]
            else (
                max(counts[box] for box in near) < 2,
                max(counts[box] for box in near) == 3,
                max(given[box] for box in near) / 8,
            )
            for edge, near in beside.items()
        ]
        np.testing.assert_allclose(of_edges, expected_edges, atol=1e-6)
        safe = int(sum(edge[0] for edge in expected_edges))
        all_numbers = np.array([safe, *numbers])
        expected_board = [*all_numbers / (20, 4, 2, 4, 4), *all_numbers % 2, control, started_chains]
        np.testing.assert_allclose(of_board, expected_board, atol=1e-5)
    assert {1, 2, 3, 4, 5, 6, ROWS * COLS} <= lengths
    assert loops
