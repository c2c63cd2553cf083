"""The parts of the study of DPText: texts and attributes, training and attacks, picture and words."""
