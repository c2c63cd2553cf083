"""Parts of the study of DPAL's privacy."""
