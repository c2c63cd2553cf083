from .representation import Representation as Representation
from .representation import fit_representation as fit_representation
from .representation import load_representation as load_representation
from .training import AttributeRecords as AttributeRecords
from .training import RepresentationOptions as RepresentationOptions
