"""What a large corpus takes: the model of cost, the plan it gives, and a simulation that the plan is held against."""
