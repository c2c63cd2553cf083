"""Ways to rewrite a text as a whole, under local differential privacy."""
