"""Utility on private IMDB reviews: figure and words of the study `tem_utility`."""
