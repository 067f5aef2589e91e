"""``python -m bagwise`` is the command ``bagwise``."""

from bagwise.cli import app

if __name__ == "__main__":
    app(prog_name="bagwise")
