"""`python -m fleet_memory`: without arguments it serves, as an MCP client's configuration expects."""

import sys

from fleet_memory.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["serve"]))
