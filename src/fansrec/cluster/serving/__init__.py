"""The service on Ray Serve: fronts take requests as they do on one machine, replicas that hold the models answer."""
