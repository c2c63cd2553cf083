"""Ways to release texts, side by side on one table: word by word, record by record, and a collection as a whole."""
