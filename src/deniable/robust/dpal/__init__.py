"""DPAL (Phan et al., under review at ICLR 2020) as published: noise and objectives. Its claim of privacy is false."""
