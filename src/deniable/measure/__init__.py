"""What is left of a private text: how deniable, how useful, how far an attacker gets."""
