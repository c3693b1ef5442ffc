"""`python -m datum`."""

from datum.cli.main import command

if __name__ == "__main__":
    command()
