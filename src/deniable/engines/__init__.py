"""Private texts where the texts already are: each file is one host, thin code over `deniable.text.release.Release`."""
