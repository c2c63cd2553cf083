"""The group `deniable audit`."""
