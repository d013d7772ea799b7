"""The analysis of an agent that has one."""

from typing import Any

from jaxgames.agents import Agent, Analysis, analyse


def analysis_of(agent: Agent, states: Any) -> Analysis:
    """Returns `jaxgames.agents.analyse(agent, states)`, which must not be None."""
    analysis = analyse(agent, states)
    assert analysis is not None, f"{agent} has no probabilities"
    return analysis
