"""What all training shares: runs that resume from a checkpoint, DP-SGD, accounting, stored artifacts. Needs torch."""
