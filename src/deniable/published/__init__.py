"""Published systems whose claims are false or unproved: mechanism, flaw and evidence, one folder per paper."""
