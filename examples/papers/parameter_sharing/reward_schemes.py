"""The four schemes of rewards of section 3.1.8: the study says that agents with sparse ones had difficulty learning.

    python -m examples.papers.parameter_sharing.reward_schemes --output runs/papers/parameter_sharing/reward_schemes

The study gives no numbers of the schemes that it did not use. Here every scheme trains runs with full sharing, and an
evaluation is as in Figure 2: the policy in seat 0, random players on all others.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.papers._experiment import Report, command
from examples.papers._intervals import difference, exact_p, format_p
from examples.papers.parameter_sharing import comparison, runs
from examples.papers.parameter_sharing.study import MEASURES, ROUNDS, Preset, settings_of
from train.driver.tables import markdown

GAME = "chinese_checkers(size=2, num_players=6, max_rounds={}, reward={})"
MEASURE = "steps to 0.9"  # whose differences are tested
SHOWN = (MEASURE, "steps to 1.0", "turns to win")
HEADER = ("rewards", "runs", *SHOWN, f"difference of {MEASURE} from the first", "p")
QUICK: dict[str, Any] = {"schemes": ("positive_sum", "sparse"), "seeds": 2, "iterations": 2, "games": 2}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/parameter_sharing/reward_schemes")
    preset: Preset = "parameter_sharing"
    """The settings of training: ours, or those of the study's code, with the rewards of each scheme."""
    schemes: tuple[str, ...] = ("positive_sum", "goal", "movement", "sparse")
    """Schemes of rewards, the first one for comparison."""
    iterations: int = 50


def report(arguments: Arguments) -> Report:
    """Trains the runs of each scheme."""
    sweeps = {
        scheme: settings_of(arguments.preset, arguments.iterations, env=GAME.format(ROUNDS, scheme))
        for scheme in arguments.schemes
    }
    trained = runs.train_each(arguments.output / arguments.preset, sweeps, arguments.seeds, arguments.games)
    curves = {scheme: runs.curves_of(of_scheme) for scheme, of_scheme in trained.items()}
    steps = {scheme: comparison.measures(of_scheme)[MEASURE] for scheme, of_scheme in curves.items()}
    first, rows, numbers = arguments.schemes[0], list[list[object]](), dict[str, Any]()
    for scheme, of_scheme in curves.items():
        reached = comparison.reached(of_scheme)
        test = ["", ""]
        if scheme != first:
            change = difference(steps[scheme], steps[first])
            test = [comparison.text_of(MEASURE, change), format_p(exact_p(steps[scheme], steps[first]))]
        shown = (comparison.text_of(name, reached[name]) for name in SHOWN)
        rows.append([f"`{scheme}`", arguments.seeds, *shown, *test])
        numbers[scheme] = {name: comparison.finite(reached[name]) for name in MEASURES}
    return Report(numbers, markdown(HEADER, rows))


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
