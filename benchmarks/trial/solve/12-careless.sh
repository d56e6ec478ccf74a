#!/usr/bin/env bash
# 12 careless: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
cat > docs/releases/2.9.0.md <<'X'
# 2.9.0

* Shipping zones of Limassol revised.
* Price list corrected.
* Day counts for finance.
X
echo 2.9.0 > VERSION
:
./hal release cut 2.9.0
./hal publish releases --env staging --file docs/releases/2.9.0.md 
./hal release show 2.9.0 > out/release-2.9.0.txt
