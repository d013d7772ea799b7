"""The command `train.strength`: how solved a game is by agents."""
