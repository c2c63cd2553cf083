"""Labelled images read from files of several kinds, with everything that is wrong with a file named."""

from deniable.robust.images.dataset import Dataset, Images
from deniable.robust.images.declared import Declared
from deniable.robust.images.read import read_images

__all__ = ["Dataset", "Declared", "Images", "read_images"]
