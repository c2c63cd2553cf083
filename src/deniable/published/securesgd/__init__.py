"""SecureSGD (Phan et al. 2019): uneven noise in the first layer."""
