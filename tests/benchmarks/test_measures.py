"""Benchmarks measure what they name: both sides of a comparison compute the same, and play the same games."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from benchmarks import adapters, peer_process, peers, play, search
from benchmarks.adapters import ADAPTERS, make_play
from benchmarks.envs import recorded_actions
from benchmarks.harness import cores
from benchmarks.peer_process import KINDS, OPEN_SPIEL_CONFIGURATIONS
from benchmarks.peers import CONTESTS, PACKAGES, Arguments, Contest, Side, measure_peers, missing
from jaxgames.mcts import SearchConfig
from tests.helpers.blocks import needs
from tests.play.web.browser import chromium

BOXES = "dots_and_boxes(rows=1, cols=1)"
APART = ("gymnax", "jaxmarl")  # of libraries that are tested in an environment of their own
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.mark.slow  # one process for each side, each a start of JAX
@needs_compiler
def test_sides_are_measured_in_turns_and_failing_ones_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: dict[str, dict[str, Any]] = {
        "OpenSpiel, buffer": {"kind": "open_spiel", "game": "tic_tac_toe", "configuration": "buffer"},
        "C++ loop": {"kind": "star_loop", "size": 1},
        "nobody": {"kind": "open_spiel", "library": "nobody"},
        "broken": {"kind": "open_spiel", "game": "no_such_game"},
    }
    tiny = Contest(BOXES, tuple(Side(*side) for side in sides.items()))
    alone = Contest("minichess(rules=king_capture)")  # whose boards have a leaf without elements
    monkeypatch.setattr(peers, "CONTESTS", {"tiny": tiny, "alone": alone})
    monkeypatch.setattr(peers, "PACKAGES", PACKAGES | {"nobody": "no_such_package"})
    arguments = Arguments(games=("tiny", "alone"), rounds=3, seconds=0.02, boards=(4,))
    buffer, loop, nobody, broken, alone = json.loads(json.dumps(measure_peers(arguments)))["rows"]
    for row in (buffer, loop):
        ratios = sorted(a / b for a, b in zip(row["ours"]["rounds"], row["theirs"]["rounds"], strict=True))
        rounding = 2 / min(*row["ours"]["rounds"], *row["theirs"]["rounds"])
        assert [row["min"], row["ratio"], row["max"]] == pytest.approx(ratios, rel=rounding)
    tried = {(way["boards"], way["devices"]) for way in buffer["ours"]["tried"]}
    assert tried == {(4 * cores(), number) for number in (1, cores())}
    assert buffer["ours"]["compile_seconds"] > 0
    assert "jaxgames[dev]" in nobody["missing"]
    assert "stopped" in broken["error"]
    assert not any("ratio" in row for row in (nobody, broken))
    assert alone["peer"] is None


@pytest.mark.slow  # compiles whole games twice
@needs_compiler
def test_hand_written_loop_plays_the_same_game(tmp_path: Path) -> None:
    """The mean number of legal actions in random play, over some 6,000 games of each."""
    binary = peer_process.compiled_star_loop(tmp_path)
    asked = "200000 steps\n0.01 seconds\n"
    done = subprocess.run([binary, "1"], input=asked, check=True, capture_output=True, text=True)
    (speed, theirs), (clocked_speed, _) = (map(float, line.split()) for line in done.stdout.splitlines())
    assert min(speed, clocked_speed) > 0

    env = jaxgames.auto_reset(jaxgames.make("chinese_checkers", size=1, num_players=6, max_rounds=200))

    @jax.jit
    def mean(key: jax.Array) -> jax.Array:
        def body(boards: Any, key: jax.Array) -> Any:
            mask = jax.vmap(env.legal_action_mask)(boards)
            action = jax.vmap(jaxgames.random_action)(jax.random.split(key, 64), mask)
            return jax.vmap(env.step)(boards, action), mask.sum()

        boards = jax.vmap(env.init)(jax.random.split(key, 64))
        return jax.lax.scan(body, boards, jax.random.split(key, 3000))[1].mean() / 64

    assert theirs == pytest.approx(float(mean(jax.random.key(0))), rel=0.01)


def test_contests_name_existing_games_kinds_and_configurations() -> None:
    for contest in CONTESTS.values():
        jaxgames.make(contest.game)
        for peer in contest.peers:
            assert peer.arguments["kind"] in KINDS
            assert peer.arguments.get("configuration", "methods") in OPEN_SPIEL_CONFIGURATIONS
            assert peer.arguments["kind"] == "star_loop" or missing(peer) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["jaxgames", *(pytest.param(name, marks=needs(name) if name in APART else ()) for name in ADAPTERS)]
)
def test_every_adapter_plays_and_counts_its_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "STEPS_PER_CALL", 9)  # more than one game
    run = make_play(name, jaxgames.make(BOXES), 2, "")
    assert run() in (9, 2 * adapters.VECTOR_STEPS_PER_CALL, 2 * 32)


@pytest.mark.slow  # compiles two searches
def test_searches_of_one_game_find_the_same() -> None:
    """With a slot for every action, ours and mctx are one algorithm: equal values and actions on equal boards."""
    game, config = "dots_and_boxes(rows=1, cols=2)", SearchConfig(simulations=8, slots=7)  # it has seven edges
    sides = [make(game, 4, config, (5,)) for make in (search.ours, search.dense)]
    env, boards = search.game_of_two(game), sides[0].boards
    assert sides[1].bytes_per_node == 6 * 4 * env.num_actions + 5 * 4 + env.state_bytes  # 4 bytes a number
    jax.tree.map(np.testing.assert_array_equal, boards, sides[1].boards)
    ours, (action, weights, value) = (
        jax.jit(side.program)(jax.random.key(2), side.params, side.boards) for side in sides
    )
    live = ~boards.terminated
    assert live.any()
    np.testing.assert_array_equal(ours.action[live], action[live])
    rows = jnp.arange(4)
    in_order = jnp.zeros((4, 8)).at[rows[:, None], ours.slots].set(ours.weights)[:, :7]
    np.testing.assert_allclose(in_order[live], weights[live], atol=1e-5)
    np.testing.assert_allclose(ours.values[rows, boards.current_player][live], value[live], atol=1e-5)


def test_recorded_actions_are_legal_when_replayed() -> None:
    env = jaxgames.auto_reset(jaxgames.make(BOXES))
    step, mask = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.legal_action_mask))
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(5), 2))
    for action in recorded_actions(jaxgames.make(BOXES), 2, 30):
        assert mask(boards)[[0, 1], action].all()
        boards = step(boards, action)


@pytest.mark.slow
@pytest.mark.browser
def test_clicks_are_measured_up_to_the_end_of_the_game() -> None:
    chromium()
    (row,) = play.measure_clicks(play.Arguments(games=("dots_and_boxes(rows=1, cols=2)",)))["rows"]
    assert row["clicks"] == 7
    assert 0 < row["p50"] <= row["p95"]
    assert row["page"] > 0 < row["server"]
