"""DP-SGD that clips the mean of a batch: refuted by its first step."""

from deniable.models.images.training.fitting import fit_image_model
from deniable.registry.trainers import IMAGE_TRAINERS
from tests.models.images.random_images import data

TINY = {"steps": 2, "batch_size": 30, "width": 0.25}


def test_batches_clipped_as_one_are_refuted():
    """Clipping the mean of a batch, with noise made for clipped examples, spends more than it claims."""
    options = IMAGE_TRAINERS["dp-sgd-batch-clipped"].choose_options(**TINY, epsilon=0.5, delta=1e-5)
    model = fit_image_model(IMAGE_TRAINERS["dp-sgd-batch-clipped"], data(), options, seed=0)
    assert model.verdict.status == model.guarantee.status == "refuted"
    assert model.verdict.lower_bound > 0.5
    assert model.verdict.witness is not None
