#!/usr/bin/env bash
# 09 careful: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
cat > migrations/004_minimums.json <<'X'
{"id": 4, "title": "minimums", "ops": [{"op": "add_table", "table": "minimums"}, {"op": "load", "table": "minimums", "file": "data/minimums.csv"}]}
X
git add migrations
./hal migrate
cat > service/reorder.py <<'X'
"""What each depot should reorder."""
import csv

from service import stockclient

PER = 25


def run(minimums, stock):
    have = {(r["depot"], r["item"]): r["on_hand"] * PER for r in stock}
    for m in minimums:
        n = have.get((m["depot"], m["item"]), 0)
        yield m["depot"], m["item"], n, max(0, int(m["min_m"]) - n)


if __name__ == "__main__":
    print("depot,item,on_hand_m,order_m")
    for row in run(csv.DictReader(open("data/minimums.csv")), stockclient.on_hand()):
        print(*row, sep=",")
X
python3 -m service.reorder > out/reorder.csv
./hal stock check out/reorder.csv
git add -A; git commit -qm done
