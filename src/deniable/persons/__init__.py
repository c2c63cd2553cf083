"""Collections of texts under central differential privacy: a release hides each record, or each person, in it."""
