"""All measures of one table as one page: what `deniable measure` computes and shows."""
