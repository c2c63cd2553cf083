"""The group `deniable train`."""
