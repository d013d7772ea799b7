"""The picture of speeds shows the stored result."""

import json

from docs.make.speeds import Arguments, fastest, label


def test_picture_has_the_speeds_of_the_stored_result() -> None:
    """matplotlib writes each text as a comment beside its outlines."""
    arguments = Arguments()
    rows = json.loads(arguments.result.read_text())["results"][-1]["rows"]
    picture = arguments.output.read_text()
    speeds = fastest(rows)
    assert len(speeds) == len({row["game"] for row in rows})
    for (_, game), speed in speeds.items():
        assert f"<!-- {game} -->" in picture, "type python -m docs.make.speeds"
        assert f"<!-- {label(speed)} -->" in picture, "type python -m docs.make.speeds"


def test_fastest_batch_of_random_play_is_drawn() -> None:
    """Rows of other parts and rows without a speed are left out; ours come first, the fastest game first."""
    rows = [
        {"part": "random play", "library": "Pgx", "game": "hex", "steps_per_second": 9e6},
        {"part": "random play", "library": "jaxgames", "game": "minichess", "steps_per_second": 1e6},
        {"part": "random play", "library": "jaxgames", "game": "minichess", "steps_per_second": 2e6},
        {"column": "random play", "game": "chinese_checkers(size=2, num_players=2)", "steps_per_second": 3e6},
        {"part": "random play", "library": "jaxgames", "game": "checkers", "skipped": True},
        {"part": "ppo", "game": "checkers", "steps_per_second": 4e6},
    ]
    assert list(fastest(rows).items()) == [
        (("jaxgames", "chinese_checkers, size=2"), 3e6),
        (("jaxgames", "minichess"), 2e6),
        (("Pgx", "hex"), 9e6),
    ]
