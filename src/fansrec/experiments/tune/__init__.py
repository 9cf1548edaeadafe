"""`fans tune`: a search for the settings of one model on the validation lists, within a time limit."""
