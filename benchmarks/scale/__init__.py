"""Costs of a large corpus: the cost model, the plan that follows from it, and a simulation to compare it with."""
