"""`fans serve` on a Ray cluster: Ray places one whole service on each machine and starts it again when it is lost."""
