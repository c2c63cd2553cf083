"""The HTTP service: private texts for programs that are not written in Python, on one machine or behind a gateway."""
