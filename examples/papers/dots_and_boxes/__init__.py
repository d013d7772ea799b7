"""Experiments of the study on Dots and Boxes of El Kaddouri, Rys and Gao 2024, a module each.

    agent            alpha-beta against the opponents of the study                    section 5.7
    board_sizes      runs on boards that they were and were not trained on            section 6
    losses           in which part of a game an agent loses boxes
    phases           values and moves of networks, by the part of the game
    fit_solution     a network that is fitted to the solution of a small board

`matches.py` has the games of `board_sizes` and `losses`. docs/papers/dots_and_boxes.md has the results.
"""
