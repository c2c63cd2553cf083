"""The group `deniable certify`."""
