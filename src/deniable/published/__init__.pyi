from . import adept as adept
from . import dptext as dptext
