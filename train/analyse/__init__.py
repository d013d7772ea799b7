"""The command `train.analyse`: recorded games, annotated."""
