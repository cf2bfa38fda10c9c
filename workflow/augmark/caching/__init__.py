"""What a run needs beforehand, and what of it lies on the disk."""
