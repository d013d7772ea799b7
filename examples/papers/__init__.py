"""Experiments of published studies, a package per study. docs/papers/ has their results.

    parameter_sharing       Adhikari and Gu 2024: sharing parameters between six seats of Chinese Checkers
    alpha_mini              Sun and Tan 2021: minichess against random players
    dots_and_boxes          El Kaddouri, Rys and Gao 2024: alpha-beta and networks for Dots and Boxes
    matrix_games            the same study: learners in matrix games
    checkers_imitation      Larson 2016: checkers learned from people
    solution_strength       Ahmad, Sturtevant and Bowling: strength in solved games

`_experiment.py` is the frame of every experiment, `_intervals.py` has statistics over seeds.
"""
