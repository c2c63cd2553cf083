"""DPAL (Phan et al. 2020, "Scalable Differential Privacy with Certified Robustness in Adversarial Learning").

The claims: training images are differentially private under a total budget eps_t (Theorem 4), the released model
predicts under certified robustness (Eq. 15), and accuracy is high. Both guarantees are false:

- Privacy. One noise vector is drawn for all images and all steps, so it cancels in differences, and its scale is made
  for a Lipschitz constant in place of the l1 sensitivity. `mechanism` has the budget, noise, objectives and the
  refutation by law; `image_audit` (Lemma 3), `parameter_audit` (Theorem 1), `label_audit` (Theorem 3) and
  `sensitivity_audit` (Lemma 3 with independent noise; where the accuracy comes from) are the evidence, as `events`
  counts it.
- Robustness. Sizes of two units are added, group privacy is turned around, and the noise at inference is smaller than
  the certificate assumes. `certificate` has it as published and what can be proved in its place; `counterexample` shows
  each error at work, without sampling.

`trainer` is Algorithm 1, which `deniable train` runs; `zoo` lists the audits as entries of the zoo.
"""
