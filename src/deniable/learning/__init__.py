"""What all training shares: runs that go on where they stopped, first weights, stored tensors. Needs torch."""
