"""What everything else stands on: guarantees, evidence, randomness, errors, parallel work, the cache."""
