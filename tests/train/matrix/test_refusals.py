"""Wrong arguments of matrix games, their dynamics and their learners are refused."""

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames import ParameterError
from train.matrix.games import MatrixGame, logit_equilibrium, matrix_game, nash
from train.matrix.replicator import Dynamics, basin, field, integrate
from train.matrix.tabular import Learner, run

SUBSIDY = matrix_game("subsidy")
KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("call", "error", "needles"),
    [
        (lambda: matrix_game("chicken"), ParameterError, ("chicken", "battle_of_sexes")),
        (lambda: MatrixGame("wrong", np.zeros((3, 2, 2))), ParameterError, ("payoffs", "[2, n, m]")),
        (lambda: MatrixGame("wrong", np.full((2, 2, 2), np.inf)), ParameterError, ("payoffs", "finite", "inf")),
        (lambda: MatrixGame("wrong", [[["a"]]]), ParameterError, ("payoffs", "'a'")),  # pyright: ignore[reportArgumentType]  # on purpose
        (lambda: nash(MatrixGame("large", np.zeros((2, 30, 30)))), ValueError, ("30 x 30", "11 x 11")),
        (lambda: logit_equilibrium(matrix_game("subsidy"), -1.0), ParameterError, ("tau", "-1.0", "above 0")),
        (lambda: basin(SUBSIDY, 0, 0.1), ParameterError, ("kappa", "0", "from 1")),
        (lambda: Dynamics(tau=math.nan), ParameterError, ("tau", "nan", "from 0")),
        (lambda: field(SUBSIDY, Dynamics(), 0), ParameterError, ("grid", "0", "1 to 2000")),
        (lambda: basin(matrix_game("biased_rps"), 1, 0), ParameterError, ("two actions", "biased_rps", "(3, 3)")),
        (lambda: integrate(SUBSIDY, Dynamics(), ([0.0, 1.0], [0.5, 0.5])), ParameterError, ("start", "above 0")),
        (lambda: integrate(SUBSIDY, Dynamics(), ([math.nan, 1.0], [0.5, 0.5])), ParameterError, ("start", "above 0")),
        (lambda: Learner("greedy"), ParameterError, ("kind", "'greedy'", "'lenient_faq'")),  # pyright: ignore[reportArgumentType]  # on purpose
        (lambda: Learner(kappa=0), ParameterError, ("kappa", "0", "from 1")),
        (lambda: Learner(alpha=1.5), ParameterError, ("alpha", "1.5", "up to 1")),
        (lambda: Learner(beta=0), ParameterError, ("beta", "0", "above 0")),
        (lambda: Learner(epsilon=-0.1), ParameterError, ("epsilon", "-0.1", "from 0 to 1")),
        (lambda: Learner(tau_schedule=(0.5, 0)), ParameterError, ("tau_schedule", "0", "above 0")),
        (lambda: run(SUBSIDY, Learner(), KEY, 0, 1), ParameterError, ("num_runs", "0", "from 1")),
        (lambda: run(SUBSIDY, Learner(), KEY, 1, 0), ParameterError, ("steps", "0", "from 1")),
        (lambda: run(SUBSIDY, Learner(), KEY, 1, 1, "random"), ParameterError, ("start", "'random'", "'values'")),  # pyright: ignore[reportArgumentType]  # on purpose
    ],
)
def test_wrong_argument_is_refused(call: Callable[[], Any], error: type[Exception], needles: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert [needle for needle in needles if needle not in str(caught.value)] == []
