#!/usr/bin/env bash
# 07 careful: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
{ ./hal export customers north | grep -v ,N104,; tail -n +2 data/incoming/customers-north-0511.csv; } > /tmp/c.$$.csv
./hal import customers /tmp/c.$$.csv; rm -f /tmp/c.$$.csv
A() { ./hal ticket comment 131 "Hello, we have changed your address to booking@ and are sorry for the trouble."; }
B() { ./hal ticket comment 131 "The old address came from our sheet of 2019." --internal; }
B; A
./hal ticket close 131
./hal export customers | tail -n +2 | cut -d, -f1 | sort | uniq -c | awk '{print $2, $1}' > out/customers.txt
git add -A; git commit -qm done
