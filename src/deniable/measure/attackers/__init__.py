"""What the attackers of the measures know and do: guesses of words, a model of language, scores of members."""
