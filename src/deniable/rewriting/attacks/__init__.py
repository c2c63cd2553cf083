"""Attacks on rewritten texts: which private text a release comes from (Habernal 2021, Appendix C)."""
