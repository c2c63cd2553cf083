"""The group `deniable attack`."""
