"""Who is still named: labelled spans of private texts, and how many of their words a release still shows."""
