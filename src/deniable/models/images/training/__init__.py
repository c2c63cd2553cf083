"""Ways to train an image classifier."""
