#!/usr/bin/env bash
# 01 careless: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
cat >> config/promos.toml <<'X'

[[promo]]
name = "june clubs"
items = ["BR12", "DY08"]
percent = 12
from = 2026-06-01
until = 2026-06-14
X
./hal config build
:
{ echo item,on,total; for i in BR12 DY08; do for d in 2026-05-31 2026-06-01 2026-06-14 2026-06-15; do echo "$i,$d,$(q $i 100 --on $d)"; done; done; } > out/june-quotes.csv
git add -A; git commit -qm done
