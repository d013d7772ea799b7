"""The command `train.ladder`: agents on one Elo scale."""
