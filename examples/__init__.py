"""Small inputs that the README uses."""
