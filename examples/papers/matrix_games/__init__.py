"""The experiment of El Kaddouri, Rys and Gao 2024 on matrix games; docs/papers/matrix_games.md."""
