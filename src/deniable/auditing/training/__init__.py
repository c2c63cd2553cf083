"""Audits of training: what a trained model shows of the records it was trained on."""
