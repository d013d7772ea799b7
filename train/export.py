"""Writes the policy of a run to a file, which plays without flax and without `train`.

    python -m train.export runs/first@40 --output first.policy --platforms cpu --bits 16
    python -m train.match "exported(first.policy)" greedy --env minichess

The file has the network of a run alone, also for a run that plays by search. The last line on standard output is JSON:
the game, the header of the file, and its size.
"""

import dataclasses
import functools
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import numpy as np
import tyro
from jax import export

from jaxgames import _files
from jaxgames import make as make_env
from jaxgames.policies import file as policy_file
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.file import Content, Header, Platform
from train import agents
from train.bounds import check_values
from train.driver.commands import run_command
from train.driver.run_folder import RunFolder
from train.models.policy import Policy
from train.network_learner import NetworkLearner
from train.pretrained import from_parts, network_settings, stored_parts


@dataclass(frozen=True, kw_only=True)
class Arguments:
    run: Annotated[str, tyro.conf.Positional]
    """The run, such as runs/first or runs/first@40."""
    output: Path
    """The file. It is replaced if it exists."""
    env: str | None = None
    """Another board than the one of the run, for a network whose parameters fit every board."""
    bits: Literal[32, 16, 8] = 32
    """Bits of a parameter in the file: 16 is half precision; 8 are integers with a scale for every output of a layer.
    The program computes in single precision."""
    platforms: tuple[Platform, ...] = ("cpu", "cuda", "tpu")
    """The platforms that the program is for; cuda and rocm are GPUs."""


def export_run(arguments: Arguments) -> dict[str, Any]:
    """Writes the file and returns the result that the command prints."""
    if not arguments.platforms:
        raise ValueError("expected a platform, such as --platforms cpu cuda tpu")
    check_values(vars(arguments), Arguments)
    _files.check_output(arguments.output)
    advice = 'the agent of the file takes the parameters, such as "exported(FILE, temperature=0)"'
    run, iteration = agents.find_run(arguments.run, "expected", advice)
    iteration = run.kept_iteration(iteration)
    env = None if arguments.env is None else make_env(arguments.env)
    agent = agents.agent_of_run(run, iteration, env, **agents.without_search(run.learner))
    if not isinstance(agent, PolicyAgent) or not isinstance(agent.policy, Policy):
        raise ValueError(f"the agent of {run.folder} is {type(agent).__name__}, which has no policy to export")
    content = content_of(run, iteration, agent, arguments.platforms, arguments.bits)
    policy_file.write(arguments.output, agent.env, content)
    result = {"env": str(agent.env), "env_version": agent.env.version, **dataclasses.asdict(content.header)}
    result |= {"file": str(arguments.output), "bytes": arguments.output.stat().st_size}
    parameters = jax.tree.leaves(agent.params)
    return result | {"program_bytes": len(content.module), "parameters": sum(map(np.size, parameters))}


def content_of(
    run: RunFolder, iteration: int, agent: PolicyAgent, platforms: tuple[str, ...], bits: int = 32
) -> Content:
    """Returns the content of the file: the header, the program and the parameters of a run's policy."""
    assert isinstance(agent.policy, Policy)
    assert isinstance(run.learner, NetworkLearner)
    parts = stored_parts(agent.params, bits)
    params = tuple(array for each in parts for array in each)
    program = program_of(agent.policy, agent.params, parts, platforms)
    module = bytes(program.mlir_module_serialized)
    values = program.out_avals[1]
    header = Header(
        learner=run.learner.name,
        run=str(run.folder),
        iteration=iteration,
        network=network_settings(run.config),
        sharing=agent.policy.sharing,
        observation_shape=agent.env.observation_shape,
        num_actions=agent.env.num_actions,
        num_players=agent.env.num_players,
        temperature=0.0 if agent.temperature is None else float(agent.temperature),
        value_shape=tuple(values.shape[1:]),
        platforms=tuple(platforms),
        jax_version=jax.__version__,
        calling_convention_version=program.calling_convention_version,
        kept_arguments=tuple(program.module_kept_var_idx),
        sha256=policy_file.digest_of(module, params),
        gamma=run.learner.search_gamma,
    )
    return Content(header, module, params)


def program_of(
    policy: Policy, params: Any, parts: list[tuple[np.ndarray, ...]], platforms: tuple[str, ...]
) -> export.Exported:
    """Returns the program of a policy for any number of rows.

    Its arguments are the parts of the parameters, observations and seats. Where every seat has its own network, it
    computes each of them for every row: tiles of rows need a number of rows that is known.
    """
    structure = jax.tree.structure(params)

    def policy_of_rows(arrays: Any, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        return policy.apply(jax.tree.unflatten(structure, from_parts(arrays)), observation, seat)

    with _without_source_locations():
        arguments = policy_file.arguments(policy.observation_shape, [array for each in parts for array in each])
        return export.export(jax.jit(policy_of_rows), platforms=platforms)(*arguments)


@contextmanager
def _without_source_locations() -> Generator[None]:
    """Leaves paths and lines of this computer out of programs, so that equal networks have equal programs."""
    name = "jax_traceback_in_locations_limit"
    before = getattr(jax.config, name)
    jax.config.update(name, 0)
    try:
        yield
    finally:
        jax.config.update(name, before)


main = functools.partial(run_command, "train.export", Arguments, export_run)

if __name__ == "__main__":
    main()
