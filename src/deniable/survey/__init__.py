"""Ways to release one table, measured side by side: what each guarantees, shows and leaves; advice and one page."""
