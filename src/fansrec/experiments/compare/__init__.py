"""`fans compare`: models trained on one corpus, compared list by list on its test lists, one of them recommended."""
