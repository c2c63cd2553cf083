"""AdLM: its claim is stated as a claim, neither proved nor refuted."""

import deniable as dn
from deniable.published import adlm
from tests.models.images.random_images import data


def test_adlm_is_undecided(monkeypatch):
    """The guarantee is claimed, the verdict undecided, and there is no certificate; all noise is drawn once."""
    monkeypatch.setattr(adlm, "_RELEVANCE_STEPS", 3)
    options = adlm.ADLM_TRAINER.choose_options(steps=2, batch_size=30, width=0.25, epsilon=0.2)
    model = dn.images.fit_image_model(adlm.ADLM_TRAINER, data(), options, seed=3)
    assert model.guarantee.kind == "PureDP"
    assert (model.guarantee.epsilon, model.guarantee.status) == (0.2, "undecided")
    assert model.verdict.status == "undecided"
    assert model.certificate is None
    (noise,) = model.noises
    assert noise.offset.abs().min() > 0 == noise.scale
