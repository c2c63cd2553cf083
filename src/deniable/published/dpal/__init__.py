"""DPAL (Phan et al. 2020, "Scalable Differential Privacy with Certified Robustness in Adversarial Learning").

The claims: training images are differentially private under a total budget eps_t (Theorem 4), the released model
predicts under certified robustness (Eq. 15), and accuracy is high. Both guarantees are false:

- Privacy. One noise vector is drawn for all images and all steps, so it cancels in differences, and its scale is made
  for a Lipschitz constant in place of the l1 sensitivity. `mechanism` has the budget, objectives and the refutation by
  law; `image_audit` (Lemma 3, also with independent noise) and `training_audit` (Theorems 1 and 3) are the evidence.
- Robustness. Sizes of two units are added, group privacy is turned around, and the noise at inference is smaller than
  the certificate assumes. `certificate` has it as published.

`trainer` is Algorithm 1, which `deniable train` runs; `zoo` lists the audits as entries of the zoo.
"""
