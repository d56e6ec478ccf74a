#!/usr/bin/env bash
# 06 careful: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
python3 - <<'X'
import csv
from datetime import timedelta
from service import movements, stockclient
off, per = {"BGO": 1, "FAO": 0, "LIM": 2, "HOR": -1}, 25
with open("out/rope-metres.csv", "w") as f:
    print("depot,item,metres", file=f)
    for r in stockclient.on_hand():
        if r["item"][:2] in ("BR", "DY"):
            print(f"{r['depot']},{r['item']},{r['on_hand'] * per}", file=f)
with open("out/last-dispatch.csv", "w") as f:
    print("depot,last_utc", file=f)
    for d, rows in sorted(movements.by_depot(movements.dispatches(movements.read("data/movements-2026-02-w09.csv"))).items()):
        print(f"{d},{max(r['at'] for r in rows) - timedelta(hours=off.get(d, 0)):%Y-%m-%d %H:%M}", file=f)
X
./hal stock check out/rope-metres.csv
./hal ledger check out/last-dispatch.csv
git add -A; git commit -qm done
