"""Networks as agents: probabilities and values of a policy, its use in a search, and policies stored in files."""

from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.file import ExportedPolicy, load
from jaxgames.policies.policy import Policy, PolicyEvaluate

__all__ = ["ExportedPolicy", "Policy", "PolicyAgent", "PolicyEvaluate", "load"]
