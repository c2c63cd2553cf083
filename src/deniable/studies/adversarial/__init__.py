"""The parts of the two studies of DPAL's figures: training, attacks, certificates, the picture and the words."""
