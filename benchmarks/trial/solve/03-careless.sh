#!/usr/bin/env bash
# 03 careless: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
cat >> service/dispatches.py <<'X'
X
python3 - <<'X'
p = "service/dispatches.py"
s = open(p).read()
f = '''OFFSET = {}


def per_day(rows):
    out = {}
    for r in movements.dispatches(rows):
        key = r["depot"], (r["at"] - timedelta(hours=OFFSET.get(r["depot"], 0))).date().isoformat()
        out[key] = out.get(key, 0) + 1
    return out


'''
s = s.replace("import sys\n", "import sys\nfrom datetime import timedelta\n").replace('if __name__', f + 'if __name__')
open(p, "w").write(s)
X
cat > tests/test_dispatches.py <<'X'
from datetime import datetime

from service import dispatches


def test_per_day():
    assert dispatches.per_day([{"depot": "FAO", "kind": "out", "at": datetime(2026, 3, 2, 9, 0)}]) == {("FAO", "2026-03-02"): 1}
X
:
./hal test
python3 - > out/dispatch-days.csv <<'X'
from service import dispatches, movements
n = dispatches.per_day(movements.read("data/movements-2026-03-w10.csv"))
print("depot,day,count")
for d in ("BGO", "FAO", "HOR", "LIM"):
    for day in ("2026-03-02", "2026-03-03", "2026-03-04"):
        print(f"{d},{day},{n.get((d, day), 0)}")
X
./hal ledger check out/dispatch-days.csv
git add -A; git commit -qm done
