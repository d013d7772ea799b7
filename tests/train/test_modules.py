"""Files of somebody else import no module and start no engine; a learner of one's own in a script."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jaxgames import agents, make
from jaxgames._named import command_line, from_file, import_options
from jaxgames.interop._engine_program import EngineError
from tests.helpers.commands import error_of
from tests.helpers.registrations import temporary_registrations
from train import evaluate, export, ladder, match, play, plot, strength
from train.analyse import __main__ as analyse
from train.driver import cli, compilation
from train.driver.learner import command_of, text_of
from train.driver.loop import Settings, command_to_resume
from train.driver.run_folder import SWEEP_FILE, RunFolder
from train.ppo import PPO, Config
from train.sweep import __main__ as sweep

MODULE = """
from pathlib import Path
import jaxgames
from jaxgames.agents import FirstAgent
from jaxgames.games.dots_and_boxes import DotsAndBoxes

class Theirs(DotsAndBoxes):
    id = "their_game"

Path(__file__).with_name("trace").touch()
jaxgames.register("their_game", Theirs)
jaxgames.agents.register("their_agent", FirstAgent)
"""
BOXES = "dots_and_boxes(rows=2, cols=2)"
GAME, AGENT = "their_module:their_game(rows=1, cols=2)", "their_module:their_agent"
REFUSED = "names the module 'their_module', and a file imports none: to import it, add --import their_module"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that their module makes when it is imported, and their engine when it is started."""
    (tmp_path / "their_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compilation, "keep_programs", lambda: None)
    with temporary_registrations():
        yield tmp_path / "trace"


def run_of(folder: Path, **settings: Any) -> Path:
    """A run that was never trained, in whose config.json somebody has changed settings."""
    config = Config(env=BOXES, hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1, total_steps=8)
    RunFolder.create(folder, PPO(config)).close()
    path = folder / "config.json"
    content = json.loads(path.read_text())
    content["settings"] |= settings
    path.write_text(json.dumps(content))
    return folder


def train() -> None:
    cli.main(PPO)


COMMANDS: dict[str, tuple[Callable[[], None], tuple[str, ...]]] = {
    "ppo": (train, ("--run-dir", "RUN", "--resume")),
    "evaluate": (evaluate.main, ("RUN",)),
    "match": (match.main, ("RUN", "random")),
    "ladder": (ladder.main, (BOXES, "RUN", "--output", "RUN/ladder")),
    "strength": (strength.main, ("RUN",)),
    "plot": (plot.main, ("RUN",)),
    "export": (export.main, ("RUN", "--output", "RUN/run.policy")),
    "play": (play.main, ("RUN", "--terminal")),
}


@pytest.mark.parametrize("setting", ["env", "network"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_imports_the_module_that_a_run_names(
    command: str, setting: str, trace: Path, tmp_path: Path
) -> None:
    folder = run_of(tmp_path / "run", **{setting: GAME})
    main, arguments = COMMANDS[command]
    error = error_of(main, *(argument.replace("RUN", str(folder)) for argument in arguments))
    assert f"{folder}/config.json: {GAME!r} {REFUSED}" in error
    assert "\n" not in error
    assert not trace.exists()


@pytest.mark.parametrize(
    ("env", "opponent", "message"),
    [
        (GAME, "random", REFUSED),
        (BOXES, AGENT, REFUSED),
        (BOXES, f" {AGENT}(epsilon=0.5)", REFUSED),
        (BOXES, f"mcts(playout='{AGENT}')", REFUSED),
        (BOXES, r"mcts(playout='their\x5fmodule:their_agent')", REFUSED),
        (BOXES, f"openspiel(playout='{AGENT}')", "plays on the host"),
        ("minichess", "uci(touch TRACE, epsilon=0.5)", "plays on the host"),
        ("minichess", "mcts(playout='uci(touch TRACE)')", "playout must be an agent on the device"),
    ],
)
@pytest.mark.parametrize("command", ["ppo", "sweep"])
def test_training_neither_imports_nor_starts_the_opponents_of_a_file(
    command: str, env: str, opponent: str, message: str, trace: Path, tmp_path: Path
) -> None:
    opponent, folder = opponent.replace("TRACE", str(trace)), tmp_path / "run"
    if command == "ppo":
        main = train
        run_of(folder, env=env, opponents=[opponent])
    else:
        main = sweep.main
        folder.mkdir()
        values = {"env": [env], "opponents": [[opponent.strip()]], "total_steps": [8]}
        table = {"learner": "ppo", "seeds": 1, "seed": 0, "values": values}
        (folder / SWEEP_FILE).write_text(json.dumps(table))
    error = error_of(main, "--run-dir", folder, "--resume")
    assert message in error
    assert "\n" not in error
    assert not trace.exists()


def test_module_of_a_record_is_not_imported(trace: Path, tmp_path: Path) -> None:
    names = ("game", "opening", "start", "end", "moves", "turns", "length")
    record = dict.fromkeys(names) | {"env": GAME, "agents": [], "actions": [0], "returns": []}
    record["outcome"] = {"kind": "live"}
    (tmp_path / "games.jsonl").write_text(json.dumps(record) + "\n")
    assert REFUSED in error_of(analyse.main, tmp_path / "games.jsonl")
    assert not trace.exists()


# -- what is named -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [("--import", "their_module"), ("--import=their_module",), ("--env", GAME), ()])
def test_module_that_is_named_repeated_or_imported_is_used(how: tuple[str, ...], trace: Path, tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", env=GAME)
    if not how:
        __import__("their_module")
    error = error_of(evaluate.main, folder, *how)
    assert error == f"train.evaluate: {folder} has no checkpoint yet"
    assert trace.exists()


@pytest.mark.parametrize(("folder", "argument"), [(AGENT, f"random,{AGENT}"), (f"random,{AGENT}",) * 2])
def test_path_on_the_command_line_repeats_no_text(
    folder: str, argument: str, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes the files also names the folders. Without the folder, the same argument names the module."""
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    with command_line("command", [argument]):
        with pytest.raises(ValueError, match=REFUSED):
            agents.make(AGENT, make(BOXES))
        assert not trace.exists()
        Path(folder).rmdir()
        agents.make(AGENT, make(BOXES))
    assert trace.exists()


def test_engine_is_started_only_where_its_text_is_repeated(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file starts none, and an argument in which other words stand beside the text does not repeat it."""
    monkeypatch.chdir(tmp_path)
    env, text = make("minichess"), "uci(touch trace)"
    Path("uci").mkdir()
    folder = f"their run {text}"
    Path(folder).mkdir()
    paths = (folder, f"--run-dir={folder}", f"random,{folder}", f"{folder}(temperature=1)", "x" * 5000, "uci(nodes=5)")
    for reader in (from_file(), *(command_line("command", ["--opponents", path]) for path in paths)):
        with reader, pytest.raises(ValueError, match="a file may do neither"):
            agents.make(text, env)
    assert not trace.exists()
    for repeated in (text, f"random,{text}"):
        on_command, ends = command_line("command", [repeated]), pytest.raises(EngineError, match="ended with status 0")
        with on_command, from_file(), ends:
            agents.make(text, env)
        assert trace.exists()
        trace.unlink()


@pytest.mark.parametrize("module", ["no_such_module", "", "os; import this"])
def test_wrong_module_ends_the_command_with_the_reason(module: str, trace: Path) -> None:
    assert error_of(evaluate.main, "--import", module, "first").startswith("train.evaluate: ")
    assert not trace.exists()


@pytest.mark.usefixtures("trace")
def test_command_to_resume_names_the_modules() -> None:
    assert import_options() == []
    with command_line("command", ["--import", "math", "--env", GAME]):
        make(GAME)
        make(GAME)
        assert import_options() == ["--import", "math", "--import", "their_module"]
        with from_file():
            assert "--import math --import their_module" in command_to_resume(PPO(Config(env=GAME)), Path(), Settings())
    assert import_options() == []
    assert "their_module" in sys.modules


# -- a learner of one's own ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "spec", "module"),
    [("here/my_ppo.py", None, "my_ppo"), ("mine/ppo.py", SimpleNamespace(name="mine.ppo"), "mine.ppo")],
)
def test_learner_in_a_script_has_the_module_that_other_commands_import(
    file: str, spec: Any, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script is started by its file or with `python -m`. A notebook has none."""

    class Mine(PPO):
        __module__ = "__main__"

    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=file, __spec__=spec))
    assert (text_of(Mine), command_of(Mine)) == (f"{module}:Mine", module)
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace())
    with pytest.raises(ValueError, match=r"define Mine in a module .* such as my_ppo\.py"):
        text_of(Mine)
