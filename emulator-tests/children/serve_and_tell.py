"""Serve like `fleet-memory serve`, but print the process id first, to be killed: `python
serve_and_tell.py FILE`.
"""

import os
import sys
from pathlib import Path

from fleet_memory.cli import main

Path(sys.argv[1]).write_text(str(os.getpid()))
sys.exit(main(["serve"]))
