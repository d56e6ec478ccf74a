"""`python -m fleet_memory`: without arguments it serves, as an MCP client's configuration
expects.
"""

import sys

if __name__ == "__main__":
    try:
        from fleet_memory.cli import main

        code = main(sys.argv[1:] or ["serve"])
    except (
        KeyboardInterrupt
    ):  # while the command line is imported; from there it answers one itself
        code = 130
    sys.exit(code)
