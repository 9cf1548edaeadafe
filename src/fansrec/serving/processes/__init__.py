"""Who does the work: the queue, the processes that hold models, and how a request gets to them and back."""
