"""The parts of the study of ADePT on ATIS: its auto-encoder, what rewriting leaves of texts, and who finds them."""
