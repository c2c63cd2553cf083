"""Attacks on rewritten texts: who was it, of all that it could have been (Habernal 2021, Appendix C)."""
