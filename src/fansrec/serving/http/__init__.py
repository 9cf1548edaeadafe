"""What stands between a client and the service: connections, limits, keys, refusals, logs."""
