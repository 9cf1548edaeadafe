"""Defaults that the command line and Python share; importing them imports nothing else."""

COMPARED = ("popularity", "markov", "item-knn", "rp3beta", "ease", "slist", "vstan", "fans")  # the fast ones first
COMPARE_TIME = "60s"  # in which the settings of a model in closed form are searched
TUNE_TIME = "10m"
