"""What the tests of one process share: compiled programs, and no registrations."""

from typing import Any

import pytest

import jaxgames
from tests.conftest import group_of
from tests.helpers.sticks import Sticks


def registered_by_this_module() -> Any:
    return Sticks()


jaxgames.register("registered_by_this_module", registered_by_this_module)


def test_games_of_collected_modules_are_forgotten() -> None:
    """Otherwise a test of all games of the library would find them, too."""
    assert "registered_by_this_module" not in jaxgames.list_games()


def test_tests_of_one_folder_are_one_group(request: pytest.FixtureRequest) -> None:
    assert group_of(request.node.nodeid) == "tests"
    assert group_of("tests/train/driver/test_loop.py::test_x[a/b-c]") == "driver"


@pytest.mark.parametrize("case", ["", "-minichess(board='baby', max_plies=30)"])
def test_contract_of_a_game_is_in_the_group_of_its_other_tests(case: str) -> None:
    of_contract = f"tests/contract/test_check_env.py::test_game_keeps_the_contract[minichess{case}]"
    assert group_of(of_contract) == group_of("tests/games/minichess/test_ends.py::test_x") == "minichess"
    assert group_of("tests/contract/test_properties.py::test_without_a_game") == "contract"
