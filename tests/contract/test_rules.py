"""The rules of every game, as rows of its cases: legal actions, boards, rewards and ends after some actions."""

import dataclasses
from typing import Any

import jax
import numpy as np

import jaxgames
from tests.contract.games import each_game, of_each_game
from tests.helpers.cases import Cases, Rule
from tests.helpers.positions import legal, play


def begun(rule: Rule) -> Any:
    """Returns the board on which a rule begins."""
    state = jax.device_get(jaxgames.make(rule.env).from_string(rule.position))
    counters = {name: np.asarray(value, getattr(state, name).dtype) for name, value in rule.counters.items()}
    return dataclasses.replace(state, **counters)


def ended(rule: Rule) -> Any:
    """Returns the board after the actions of a rule; all but the last leave it live."""
    return play(jaxgames.make(rule.env), begun(rule), *rule.plays.split())


@of_each_game("rule", lambda cases: cases.rules)
def test_rule_holds(cases: Cases, rule: Rule) -> None:
    env, state = jaxgames.make(rule.env), ended(rule)
    outcome = env.outcome(state)
    kind, won = (rule.end, ()) if rule.winner is None else ("win", (rule.winner,))
    assert (outcome.kind, outcome.winners) == (kind, won)
    assert rule.reason in outcome.reason
    assert np.flatnonzero(jax.jit(env.winners)(state)).tolist() == list(won)
    if rule.text or not rule.plays:
        assert env.to_string(state) == (rule.text or rule.position)
    if rule.legal is not None:
        assert {text for text in legal(env, state) if text.startswith(rule.of)} == {*rule.legal.split()}
    if rule.rewards is not None or rule.winner is None:
        paid = np.zeros(env.num_players) if rule.rewards is None else rule.rewards
        np.testing.assert_allclose(state.rewards, paid, rtol=1e-6, atol=1e-7)


@each_game
def test_every_kind_of_end_has_a_rule(cases: Cases) -> None:
    """A game with a limit on its length can be truncated."""
    assert {rule.winner for rule in cases.rules} >= {0, 1}
    if any(name.startswith("max_") for name in vars(jaxgames.make(cases.id))):
        assert "truncated" in {rule.end for rule in cases.rules}
