"""The code on the host for any learner: command line, loop, run folder, metrics."""
