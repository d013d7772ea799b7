"""The observations, masks and actions of published environments, for networks and data of their studies.

Each file has one game: the numbers of the study, and a `Layout` with which adapters write a board.
"""
