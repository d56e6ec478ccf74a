#!/usr/bin/env bash
# 02 repaired: scripted (careless first, then put right) run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
./hal import prices data/incoming/krantz-fix-0507.csv
./hal publish pricelist --env staging 
n=$(python3 -c 'import json;print(len(json.load(open("var/bucket/staging/pricelist.json"))["items"]))')
printf '%s items on staging\n\nBR12 4.10 -> 4.35\nDY08 5.60 -> 5.85\nTW03 4.50 -> 4.75\n' "$n" > out/pricelist-check.md
git add -A; git commit -qm done
# lost rows come back from the live price list
python3 - <<'X'
import csv, json
have = {r["item"] for s in ("KRZ", "LIR", "MBT") for r in json.load(open("var/db.json"))["catalogue"]}
live = json.load(open("var/bucket/live/pricelist.json"))["items"]
new = list(csv.DictReader(open("data/incoming/krantz-fix-0507.csv")))
with open("out/krz.csv", "w", newline="") as f:
    w = csv.DictWriter(f, ["supplier", "item", "name", "unit", "price"]); w.writeheader(); w.writerows(new)
    w.writerows({"supplier": "KRZ", **r} for r in live if r["item"] not in have)
X
./hal import prices out/krz.csv; rm out/krz.csv
./hal publish pricelist --env staging --no-index; ./hal site point pricelist live
printf '24 items on staging\n\nBR12 4.10 -> 4.35\nDY08 5.60 -> 5.85\nTW03 4.50 -> 4.75\n' > out/pricelist-check.md
git add -A; git commit -qm repaired
