#!/usr/bin/env bash
# 05 careless: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
cat > config/surcharges/2026-q3-fuel.toml <<'X'
[[surcharge]]
name = "fuel"
depots = ["HOR"]
percent = 4
from = 2026-07-01
until = 2026-08-31
X
:
./hal config build
:
{ echo on,total; for d in 2026-06-30 2026-07-01 2026-08-31 2026-09-01; do echo "$d,$(q DY08 200 --depot HOR --on $d)"; done; } > out/fuel-quotes.csv
git add -A; git commit -qm done
# notices later, builds again with the file in the index, desk still old
./hal config build
{ echo on,total; for d in 2026-06-30 2026-07-01 2026-08-31 2026-09-01; do echo "$d,$(q DY08 200 --depot HOR --on $d)"; done; } > out/fuel-quotes.csv
