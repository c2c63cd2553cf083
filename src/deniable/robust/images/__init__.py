"""Labelled images read from files of several kinds, with everything that is wrong with a file named."""

from deniable.robust.images.dataset import ImageDataset, LabelledImages
from deniable.robust.images.declared import DataDeclaration
from deniable.robust.images.read import read_images

__all__ = ["DataDeclaration", "ImageDataset", "LabelledImages", "read_images"]
