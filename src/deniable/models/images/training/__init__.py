"""Training of image classifiers: what a trainer is, plain, private and certified ones, and the fit of any of them."""
