#!/usr/bin/env bash
# 08 careful: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
cat >> config/closures.toml <<'X'

[[closure]]
depot = "LIM"
reason = "stocktaking"
from = 2026-08-03
until = 2026-08-10
X
./hal config build
./hal desk shift
./hal publish calendar --env staging --no-index
./hal calendar LIM 2026-08 | tail -n +2 | tr -d ' ' > out/lim-august.txt
./hal site check
git add -A; git commit -qm done
