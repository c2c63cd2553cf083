"""SecureSGD (Phan et al. 2019, "Heterogeneous Gaussian Mechanism") and the DP-SGD of its public code.

Two claims do not hold as published:

- Robustness. Uneven noise after the first layer is certified by a formula for even noise, which ignores how the noise
  is shared out. `certificate` has the formula and the certificate as published, with a radius that is false where the
  least share of the noise is below about .37; above that its slack outweighs the flaw for networks of up to 100
  classes, and nothing is decided. `trainers` trains it, with shares of half the mean at least. Its privacy of training
  images is that of DP-SGD, and proved. The variant with even noise and the analytic formula, SecureSGD-AGM, is true:
  see `deniable.models.images.private_training`.
- Privacy. The public code clips the mean gradient of a batch and adds noise made for clipped gradients of examples.
  `trainers` has that too, and its verdict bounds the epsilon of the first step from below.

The evidence is exact in both cases, from the law of Gaussian noise, so that there is no entry of the zoo to sample.
"""
