"""The four kinds of law that a word mechanism may return, and what they are made of."""

from deniable.words.laws.exponential import ExponentialLaw, make_exponential_law
from deniable.words.laws.kernel import ExponentialKernel
from deniable.words.laws.law import Law, SimulatedLaw, Simulation
from deniable.words.laws.ring import RingLaw
from deniable.words.laws.tabulated import TabulatedLaw

__all__ = [
    "ExponentialKernel",
    "ExponentialLaw",
    "Law",
    "RingLaw",
    "SimulatedLaw",
    "Simulation",
    "TabulatedLaw",
    "make_exponential_law",
]
