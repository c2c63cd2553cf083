"""The parts of the study of Habernal 2022, Figure 1."""
