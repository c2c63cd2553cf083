"""The truncated Gumbel mechanism (Xu et al. 2021), whose proof has gaps."""
