"""Small data sets and runs for the commands about models of images."""

import numpy as np


def images(path, count=24, shape=(16, 16), classes=3, test=12, **changes):
    """Write a data set of so many noisy copies of one random image a class, some arrays changed; return its path."""
    rng = np.random.default_rng(0)
    centres = rng.random((classes, *shape))

    def half(number):
        labels = np.arange(number) % classes
        pixels = np.clip(centres[labels] + 0.05 * rng.normal(size=(number, *shape)), 0, 1)
        return (255 * pixels).astype(np.uint8), labels

    (x_train, y_train), (x_test, y_test) = half(count), half(test)
    held = {"x_train": x_train, "y_train": y_train, "x_test": x_test, "y_test": y_test, **changes}
    np.savez(path, **{name: array for name, array in held.items() if array is not None})
    return path


BUDGET = ("--epsilon", "2", "--delta", "1e-2")
"""Of DP-SGD on so few images."""
