"""Robust classifiers of text: trained, attacked and certified against the substitution of words."""
