"""``python -m deniable``: the ``deniable`` command, where its script is not on the path."""

from deniable.cli.start import run

if __name__ == "__main__":
    run()
