"""Private and robust models of images: training, attacks, certificates, and evidence against claims that are false.

Needs torch: ``pip install "deniable[train]"``.
"""
