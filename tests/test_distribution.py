"""The checks of the built package cover every extra, and fail for a package that is not as it should be."""

import sys
import zipfile
from pathlib import Path

import pytest

import jaxgames
from tests.distribution import __main__ as distribution
from tests.distribution import environments, one_step, play_without_extras


def test_every_extra_is_used_alone_or_has_a_reason_not_to_be() -> None:
    for extra in distribution.alone():
        assert callable(getattr(one_step, extra)), extra
    assert distribution.NOT_ALONE.keys() < distribution.EXTRAS.keys()


def test_game_of_each_kind_is_played_without_extras() -> None:
    games = {jaxgames.make(game).id for game in play_without_extras.GAMES}
    assert games == {*jaxgames.list_games()}


def test_lowest_versions_are_the_stated_bounds() -> None:
    newest, lowest = (list(distribution.requirements(kind)) for kind in ("newest", "lowest"))
    assert [requirement.replace("==", ">=") for requirement in lowest] == newest
    assert all("==" in requirement for requirement in lowest)


WHOLE = dict.fromkeys(distribution.DATA_FILES, b"")
STATIC_PAGE = "jaxgames/play/static_page.js"


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"jaxgames/py.typed": b""}, r"no jaxgames/baselines/checkers.json, .*, jaxgames/play/web/page/board.js, "),
        ({name: b"" for name in WHOLE if name != STATIC_PAGE}, f"no {STATIC_PAGE}$"),
        (WHOLE, None),
        (WHOLE | {"jaxgames-0.1.0.dist-info/METADATA": b""}, None),
        ({"jaxgames/env.py": b""}, "no .*jaxgames/py.typed"),
        (WHOLE | {"tests/test_env.py": b""}, r"not the library's: tests/test_env.py"),
        (WHOLE | {"train/ppo/learner.py": b""}, r"not the library's: train/ppo/learner.py"),
        ({"jaxgames/py.typed": b"", "jaxgames/table.bin": bytes(5_000_000)}, r"at most 5,000,000"),
    ],
)
def test_wheel_must_be_small_and_hold_the_library_only(
    files: dict[str, bytes], error: str | None, tmp_path: Path
) -> None:
    wheel = tmp_path / "jaxgames-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    if error is None:
        distribution.check_contents(wheel)
    else:
        with pytest.raises(SystemExit, match=error):
            distribution.check_contents(wheel)


def test_command_that_fails_ends_the_check_with_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(distribution.ROOT))
    show = "import os; print(os.environ.get('PYTHONPATH'), os.environ['FIRST'], os.getcwd())"
    assert environments.run((sys.executable, "-c", show), tmp_path, FIRST="1").split() == ["None", "1", str(tmp_path)]
    with pytest.raises(SystemExit, match=r"(?s)why not.*exit status 3"):
        environments.run((sys.executable, "-c", "print('why not'); raise SystemExit(3)"), tmp_path)
