"""The host's side of any learner: command line, loop, run folder, metrics, processes."""
