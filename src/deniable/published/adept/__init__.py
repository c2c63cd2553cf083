"""ADePT (Krishna et al. 2021): a text's vector, clipped to a ball, with Laplace noise.

Claim: one released vector, and the text decoded from it, is epsilon-DP for any two texts (Theorem 1).
Flaw: the noise is for the l2 sensitivity 2 C of the clip, and Laplace noise needs the l1 sensitivity 2 C sqrt(n): in n
dimensions the loss reaches epsilon sqrt(n) (Habernal 2021, Theorem 5.1).

- ``mechanism``: the published mechanism, and without its clip as Habernal 2022 audits it, with their evidence; the
  remedies are `deniable.vectors.Laplace`, `KNorm` and `Gaussian`.
- ``texts``: the same behind an encoder and a decoder of texts, with its evidence and two remedies; needs torch.
"""
