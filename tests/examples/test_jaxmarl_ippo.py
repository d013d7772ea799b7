"""Ten thousand steps of IPPO on the adapter for JaxMARL."""

import importlib
import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.blocks import needs

pytestmark = [pytest.mark.slow, needs("jaxmarl")]


@pytest.fixture(scope="module")
def ippo() -> Any:
    """The module of the example; importing JaxMARL takes seconds, so it is not imported while tests are collected."""
    return importlib.import_module("examples.jaxmarl_ippo")


def test_ten_thousand_steps_of_ippo_improve_the_score_against_random_moves(
    ippo: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A game on 2 x 2 boxes has 12 steps, and no action is illegal. So LogWrapper counts 53 games per board."""
    monkeypatch.setattr(sys, "argv", ["jaxmarl_ippo"])
    ippo.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["steps"] == 10_240
    assert figures["games"] == 16 * (640 // 12)
    assert np.isfinite(figures["last_loss"])
    before, after = figures["scores"]
    assert abs(before) < 0.1
    assert after > 0.15


def test_advantages_are_sums_of_discounted_errors_up_to_the_end_of_a_game(ippo: Any) -> None:
    """One agent, three steps; the second ends a game."""
    reward, value, last_value = jnp.array([[0.0], [1.0], [0.0]]), jnp.array([[0.5], [0.2], [0.1]]), jnp.array([0.4])
    done = jnp.array([[False], [True], [False]])
    batch = ippo.Batch(None, value, value, value, reward, done)
    deltas = [ippo.GAMMA * 0.2 - 0.5, 1 - 0.2, ippo.GAMMA * 0.4 - 0.1]
    expected = [deltas[0] + ippo.GAMMA * ippo.GAE_LAMBDA * deltas[1], deltas[1], deltas[2]]
    found = jax.device_get(ippo.advantages_of(batch, last_value))
    assert found[:, 0] == pytest.approx(expected, abs=1e-6)
