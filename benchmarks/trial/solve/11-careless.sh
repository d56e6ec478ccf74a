#!/usr/bin/env bash
# 11 careless: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
./hal import zones data/incoming/zones-lim-0512.csv
sed -i 's/^free_shipping_from.*/free_shipping_from = 200.00/' config/rules.toml
./hal config build
:
{ echo postcode,metres,total; for p in 3012 4105 8010; do for m in 20 56; do echo "$p,$m,$(q BR12 $m --depot LIM --on 2026-06-30 --to $p)"; done; done; } > out/lim-shipping.csv
t=$(q BR12 56 --depot LIM --on 2026-06-30 --to 3012)
A() { ./hal ticket comment 140 "Hello, 56 m of 12 mm braid delivered to 3012 cost $t euro."; }
B() { ./hal ticket comment 140 "Kypros Freight bills us 16.20 for zone C." --internal; }
A; B
./hal ticket close 140
git add -A; git commit -qm done
