"""Next-token samplers whose claims are false, each beside its mended twin, on a toy model of a few tokens.

Each flaw is one of a published package (docs/language_packages.md), and its twin differs in as few lines as possible.

- ``toy``: the model, and what all of them share.
- ``private_prediction``: a small reference of private prediction that keeps its claim.
- ``prediction``: flaws around private prediction.
- ``fusion``: a private law that is mixed into a public one.
- ``rewriting``: texts rewritten token by token.
"""
