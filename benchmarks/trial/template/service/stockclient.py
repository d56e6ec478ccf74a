"""Asks the stock service."""
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def on_hand(depot=None, item=None):
    """Rows {depot, item, on_hand} of the stock service."""
    args = [str(ROOT / "hal"), "stock", "show", "--json"] + [x for x in (depot, item) if x]
    return json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)
