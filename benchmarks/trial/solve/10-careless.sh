#!/usr/bin/env bash
# 10 careless: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
python3 - <<'X'
from datetime import datetime, timedelta
from service import movements
off = {}
a, b = datetime(2026, 2, 17, 18, 30), datetime(2026, 2, 17, 20, 15)
rows = [r for r in movements.read("data/pickups-2026-02.csv") if a <= r["at"] - timedelta(hours=off.get(r["depot"], 0)) <= b]
with open("out/affected.csv", "w") as f:
    print("id,depot", file=f)
    for r in rows:
        print(f"{r['id']},{r['depot']}", file=f)
with open("docs/pages/incident-2026-02.md", "w") as f:
    print("# Gate down, 17 February 2026\n\nThe gate of the carriers was down in the evening. Refused pick-ups:\n", file=f)
    for d, x in sorted(movements.by_depot(rows).items()):
        print(f"* {d}: {len(x)}", file=f)
X
./hal publish incident --env staging --file docs/pages/incident-2026-02.md 
./hal carrier log 2026-02-17
git add -A; git commit -qm done
