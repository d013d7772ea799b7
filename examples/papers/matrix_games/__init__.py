"""The experiment of El Kaddouri, Rys and Gao 2024 on matrix games; docs/papers/matrix_games.md has its results.

__main__     the runs of all learners
tables       the eight tables of the study
pictures     fields and basins
settings     values of epsilon and tau, numbers of steps, and learners of one's choice
"""
