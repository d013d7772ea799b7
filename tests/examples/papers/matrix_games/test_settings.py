"""Learners of one's choice in matrix games, as texts."""

from pathlib import Path

import pytest

from examples.papers.matrix_games.settings import Arguments, learner_of, report
from jaxgames import ParameterError
from train.matrix.tabular import Learner


def test_text_names_a_learner_and_its_settings() -> None:
    assert learner_of("boltzmann(tau_schedule=5)") == Learner("boltzmann", tau_schedule=5)
    assert learner_of("lenient(kappa=10, tau_schedule=(1, 0.1))") == Learner("lenient", kappa=10, tau_schedule=(1, 0.1))
    assert learner_of("faq") == Learner("faq")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("boltzmann(tau=5)", ("boltzmann(tau_schedule=5)", "train.matrix.tabular.Learner")),
        ("boltzmann(5)", ("boltzmann(tau_schedule=5)",)),
        ("greedy", ("kind", "epsilon_greedy")),
        ("epsilon_greedy(epsilon=2)", ("epsilon",)),
    ],
)
def test_wrong_text_is_refused(text: str, names: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as error:
        learner_of(text)
    assert all(name in str(error.value) for name in names)


def test_learners_that_play_at_random_are_near_the_middle_of_three_actions(tmp_path: Path) -> None:
    learners = ("epsilon_greedy(epsilon=1)",)
    games = ("biased_rps",)
    found = report(Arguments(output=tmp_path, matrix_games=games, learners=(), constant=learners, steps=(10,), runs=5))
    (row,) = found.result["more actions"]
    assert (row["middle"], row["equilibrium"], row["pure"]) == (1, 0, 1)  # the greedy policy has one action
    assert row["mean"] == pytest.approx([1 / 3] * 3, abs=1e-3)
