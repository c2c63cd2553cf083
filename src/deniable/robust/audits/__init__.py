"""What DPAL's noise hides, and what it does not: one audit in each module."""
