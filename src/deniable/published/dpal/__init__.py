"""DPAL (Phan et al. 2020): one noise vector shared by all images."""
