#!/usr/bin/env bash
# 04 careful: scripted run in DEST ($1); HAL_LOG must be set
set -u; cd "$1" || exit 1
q() { ./hal quote "$@" | awk '/total/{print $2}'; }
./hal stock receive FAO BR12 20
./hal stock receive FAO SH10 40
A() { ./hal ticket comment 118 "Hello, braid and shackles are in Faro and can be collected from tomorrow."; }
B() { ./hal ticket comment 118 "Krantz charged 2.60 per metre and delivered eight days late." --internal; }
B; A
./hal ticket close 118
./hal stock audit; ./hal ticket show 118
