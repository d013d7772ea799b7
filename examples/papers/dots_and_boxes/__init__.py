"""Experiments of the study on Dots and Boxes of El Kaddouri, Rys and Gao 2024, a module each.

    agent            alpha-beta against the opponents of the study                    section 5.7
    board_sizes      runs on boards that they were and were not trained on            section 6
    depths           which hand-outs the study's agent finds at which depth           sections 5.1, 5.3
    first_moves      exact values of boards and of all first moves

docs/papers/dots_and_boxes.md has the results.
"""
