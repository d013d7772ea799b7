"""The short form of an experiment."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from examples.papers._quick import shortened

SMALL = {"games": 2, "seeds": (0,)}


@dataclass(frozen=True)
class Arguments:
    data: str
    games: int = 1000
    seeds: tuple[int, ...] = field(default_factory=lambda: (0, 1, 2))
    output: Path = Path("runs/figure")
    quick: bool = False


def test_quick_takes_the_small_values_and_a_folder_of_its_own() -> None:
    expected = Arguments("pairs.npz", 2, (0,), Path("runs/figure_quick"), quick=True)
    assert shortened(Arguments("pairs.npz", quick=True), SMALL) == expected


def test_typed_values_stay_in_the_short_form() -> None:
    typed = Arguments("pairs.npz", games=7, output=Path("elsewhere"), quick=True)
    assert shortened(typed, SMALL) == Arguments("pairs.npz", 7, (0,), Path("elsewhere"), quick=True)


def test_arguments_without_quick_stay_as_they_are() -> None:
    assert shortened(Arguments("pairs.npz"), SMALL) == Arguments("pairs.npz")


@pytest.mark.parametrize("name", ["game", "data", "quick"])
def test_small_value_of_no_field_with_a_default_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"QUICK has '{name}', .*; fields: games, seeds, output, quick"):
        shortened(Arguments("pairs.npz"), {name: 2})
