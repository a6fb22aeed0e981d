"""`python -m quorumcast.cli`: the same as `quorumcast`."""

from quorumcast.cli import main

if __name__ == "__main__":
    main()
