"""The text of the env. The tests of every notation are in `tests/contract`."""

import jaxgames
from tests.games.minichess.pictures import STANDARD


def test_text_of_the_env_names_every_parameter() -> None:
    assert str(STANDARD) == (
        "minichess(board='gardner', rules='standard', reward='win_loss', double_step=False, promotion='all', "
        "max_plies=256)"
    )
    assert jaxgames.make("minichess(rules=standard)") == STANDARD
