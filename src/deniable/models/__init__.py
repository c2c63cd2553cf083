"""Models that are private, robust, or both: images and text."""
