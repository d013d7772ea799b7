"""The examples and blocks of the docs that need PyTorch run, each in an environment with what the docs say to install.

pip takes PyTorch without CUDA if it reaches PyTorch's own index, else the version of its default index. Where it does
not, it asks for every package once more, and not for minutes.
"""

import json
from pathlib import Path

import pytest

from tests.distribution.__main__ import Environment
from tests.helpers.blocks import PAGES, ROOT, Block, blocks

pytestmark = pytest.mark.slow  # installs hundreds of megabytes and trains

TORCH = ("torch==2.13.0", "--extra-index-url", "https://download.pytorch.org/whl/cpu", "--retries", "1")
REQUIREMENTS = {  # by the name that blocks of the docs give: an extra of jaxgames and further packages
    "rllib": ("pettingzoo", "ray[rllib]>=2.60"),
    "sb3": ("gymnasium", "sb3-contrib>=2.9"),
    "tianshou": ("pettingzoo", "tianshou>=2.0"),
    "torchrl": ("pettingzoo", "torchrl>=0.14"),
}
EXAMPLES = {"rllib": "examples.rllib_ppo", "sb3": "examples.sb3_maskable_ppo"}
BLOCKS = [block for page in PAGES for block in blocks(page) if block.environment]


@pytest.fixture(scope="module")
def environments() -> dict[str, Environment]:
    """The environments that were made so far, by name."""
    return {}


@pytest.fixture
def environment(
    name: str, environments: dict[str, Environment], tmp_path_factory: pytest.TempPathFactory
) -> Environment:
    """An environment with PyTorch and the requirements of a name; it is made once."""
    if name not in environments:
        made = environments[name] = Environment(tmp_path_factory.mktemp("environments") / name)
        extra, *packages = REQUIREMENTS[name]
        made.install(*TORCH)
        made.install(*TORCH, f"jaxgames[{extra}] @ {ROOT.as_uri()}", *packages)
        (made.folder / "examples").symlink_to(ROOT / "examples")
    return environments[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_learns_to_beat_random_moves(name: str, environment: Environment) -> None:
    output = environment.run("python", "-m", EXAMPLES[name])
    win_rates = json.loads(output.splitlines()[-1])["win_rates"]
    assert win_rates[0] < 0.62
    assert win_rates[1] > max(win_rates[0] + 0.08, 0.62)


@pytest.mark.parametrize("name", ["rllib"])
def test_rllib_plays_with_the_spaces_of_a_study(name: str, environment: Environment) -> None:
    game = "chinese_checkers(size=2, num_players=6, max_rounds=5)"
    options = ("--environment", "examples.papers.parameter_sharing.published", "--iterations", "1", "--games", "6")
    output = environment.run("python", "-m", EXAMPLES[name], "--env", game, *options)
    assert json.loads(output.splitlines()[-1])["actions"] == 973


@pytest.mark.parametrize(("name", "block"), [(block.environment, block) for block in BLOCKS], ids=str)
def test_block_of_the_docs_runs(name: str, block: Block, environment: Environment, tmp_path: Path) -> None:
    script = tmp_path / "block.py"
    script.write_text(block.code)
    environment.run("python", script)
