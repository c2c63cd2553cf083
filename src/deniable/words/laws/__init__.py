"""Laws of word mechanisms: what is sampled, verified and explained."""
