"""DPText: representations of texts, trained for a task and against private attributes, and released with noise."""
