"""A learner of a user's own, in a script: it trains, resumes, and plays a match by the commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.stored_runs import ROOT, metrics_of

OTHER_LOSS = """
import jax
from train.driver import cli
from train.ppo import PPO

class Mine(PPO):
    def loss(self, train_state, params, minibatch, dropout_key=None):
        loss, results = super().loss(train_state, params, minibatch, dropout_key)
        return loss + 1e-3 * sum((leaf**2).sum() for leaf in jax.tree.leaves(params)), results

if __name__ == "__main__":
    cli.main(Mine)
"""
OTHER_NETWORK = """
import flax.linen as nn
from train.driver import cli
from train.models import layers, networks
from train.ppo import PPO

class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.tanh(nn.Dense(16)(x.reshape(len(x), -1).astype("float32")))

networks.register("wide", lambda env, **_: layers.Network(Encoder(), layers.DenseHeads(env.num_actions)))

if __name__ == "__main__":
    cli.main(PPO)
"""
SIZES = (
    "--env",
    "dots_and_boxes(rows=1, cols=1)",
    "--num-envs",
    "4",
    "--rollout-length",
    "4",
    "--num-minibatches",
    "1",
)


@pytest.mark.slow  # starts Python four times, and compiles
@pytest.mark.parametrize(
    ("text", "more", "refusal"),
    [
        (OTHER_LOSS, (), "'my_ppo:Mine' names the module 'my_ppo', and a file imports none"),
        (OTHER_NETWORK, ("--network", "wide"), "'wide'"),
    ],
)
def test_script_of_ten_lines_trains_resumes_and_plays_a_match(
    text: str, more: tuple[str, ...], refusal: str, tmp_path: Path
) -> None:
    (tmp_path / "my_ppo.py").write_text(text)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}

    def ends(*words: str) -> tuple[int, str, str]:
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, env=environment)
        return done.returncode, done.stdout, done.stderr

    for total, added in (("32", ()), ("64", ("--resume",))):
        status, out, err = ends("my_ppo.py", *SIZES, *more, "--run-dir", "run", "--total-steps", total, *added)
        assert status == 0, err
        assert json.loads(out.splitlines()[-1])["finished"]
    assert len(metrics_of(tmp_path / "run")) == 4
    match = ("-m", "train.match", "run", "random", "--games", "4")
    status, out, err = ends(*match, "--import", "my_ppo")
    assert status == 0, err
    assert json.loads(out.splitlines()[-1])["games"] == 4
    status, _, err = ends(*match)
    assert status == 1
    assert refusal in err
