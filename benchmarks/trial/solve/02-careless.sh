#!/usr/bin/env bash
# 02 careless: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
./hal import prices data/incoming/krantz-fix-0507.csv
./hal publish pricelist --env staging 
n=$(python3 -c 'import json;print(len(json.load(open("var/bucket/staging/pricelist.json"))["items"]))')
printf '%s items on staging\n\nBR12 4.10 -> 4.35\nDY08 5.60 -> 5.85\nTW03 4.50 -> 4.75\n' "$n" > out/pricelist-check.md
git add -A; git commit -qm done
