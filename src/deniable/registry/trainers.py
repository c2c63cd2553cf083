"""Every way to train an image classifier by its name, also the published ones whose claims are false or unproved."""

from deniable.models.images.training import pixeldp, plain, private
from deniable.models.images.training.trainer import ImageTrainer
from deniable.published.adlm.trainer import ADLM_TRAINER
from deniable.published.dpal.trainer import DPAL_TRAINER
from deniable.published.securesgd.batch_clipping import BATCH_CLIPPED_TRAINER
from deniable.published.securesgd.trainer import SECURESGD_TRAINER

IMAGE_TRAINERS: dict[str, ImageTrainer] = {
    trainer.name: trainer
    for trainer in (
        private.DP_SGD_TRAINER,
        private.DP_CERT_TRAINER,
        private.DP_ADVERSARIAL_TRAINER,
        pixeldp.PIXELDP_TRAINER,
        SECURESGD_TRAINER,
        pixeldp.SECURESGD_AGM_TRAINER,
        ADLM_TRAINER,
        DPAL_TRAINER,
        BATCH_CLIPPED_TRAINER,
        plain.ADVERSARIAL_TRAINER,
        plain.PLAIN_TRAINER,
    )
}
"""A new trainer is one new file and one more entry here."""
