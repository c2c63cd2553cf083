"""ADePT (Krishna et al. 2021): a text's vector, clipped to a ball, with Laplace noise.

Claim: one released vector, and the text decoded from it, is epsilon-DP for any two texts (Theorem 1).
Flaw: the noise is for the l2 sensitivity 2 C of the clip, and Laplace noise needs the l1 sensitivity 2 C sqrt(n): in n
dimensions the loss reaches epsilon sqrt(n) (Habernal 2021, Theorem 5.1).

- ``mechanism``: the published mechanism; its remedies are `deniable.vectors.Laplace` and `deniable.vectors.Gaussian`.
- ``method``: the same behind an encoder and a decoder of texts.
- ``entry``: its evidence in the zoo.
- ``text_entries``: its evidence in the zoo from text to vector, with two remedies as controls; needs torch.
- ``unclipped``: the mechanism without its clip, as Habernal 2022 audits it, with its evidence.
"""
