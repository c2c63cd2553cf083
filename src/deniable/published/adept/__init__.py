"""ADePT (Krishna et al. 2021): its sensitivity is too small by a factor of sqrt(n) (Habernal 2021)."""
