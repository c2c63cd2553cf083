"""The parts of the study `frontier`."""
