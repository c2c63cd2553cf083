"""The parts of the study of Habernal 2021, Figure 1."""
