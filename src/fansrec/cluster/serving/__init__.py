"""The HTTP service on Ray Serve: replicas that take requests, and replicas that hold the models."""
