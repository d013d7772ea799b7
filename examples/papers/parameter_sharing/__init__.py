"""The study of Adhikari and Gu 2024 (arXiv:2405.18733), figure by figure; docs/papers/parameter_sharing.md.

    study.py           the study in numbers: settings, figures, published curves
    runs.py            training with an evaluation after every iteration
    evaluation.py      games against random players, measured as the study does and as we do
    running_sums.py    the game with the rewards of the published code
    apart.py           its network, with two encoders
    __main__.py        Figure 2 and the sharing table

The other modules are one figure or one claim each, with a command each.
"""
