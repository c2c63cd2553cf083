"""Hosts: each file is one, thin code over `deniable.text.release.Release`, or over what audits see of Opacus."""
