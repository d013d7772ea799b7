"""The study of Adhikari and Gu 2024 (arXiv:2405.18733), a module per figure; docs/papers/parameter_sharing.md.

Shared by them: `study` (its settings, figures and curves, and the table of Figure 2), `runs` (training with games
against random players after every iteration), `running_sums` and `separate_encoders` (rewards and network of the
published code), `chance_moves` and `unequal_seats` (the other games).
"""
