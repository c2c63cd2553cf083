"""A vocabulary that is taken from the data."""

from deniable.published.trainers import private_vocabulary
from tests.published.trainers.contract import TrainerContract


class TestPrivateVocabulary(TrainerContract):
    """Facts cannot compare sums of different lengths; the lengths tell."""

    module = private_vocabulary
    runs = 200
