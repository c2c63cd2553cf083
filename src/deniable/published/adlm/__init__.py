"""AdLM, the adaptive Laplace mechanism (Phan et al. 2017).

The claim: training is epsilon-differentially private, since Laplace noise is added once to relevances, to the input and
to the coefficients of the loss (Theorem 1). It is neither proved nor refuted here: the theorem is about sums over a
batch, while training reads images that all share one noise vector. `trainer` has the mechanism and says so in its
verdict (undecided). There is no audit and no entry of the zoo; `deniable.published.dpal` audits the same kind of noise.
"""
