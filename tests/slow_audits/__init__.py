"""The trainers of this package under the audits that it offers for those of others.

`cases` says what is run, `gradients`, `persons` and `rewriting` hold an adapter and worst-case data for each
trainer, and `claims` lists all of them beside what is not audited, and why. `benchmarks/own_trainers.py` prints what
they show.
"""
