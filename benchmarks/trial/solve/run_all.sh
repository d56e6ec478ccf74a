#!/usr/bin/env bash
# runs every solve script in a fresh repository, checks it and prints the table (also to solve/TABLE.md)
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
tmp="$(mktemp -d)"; trap 'rm -rf "$tmp"' EXIT
for n in 01 02 03 04 05 06 07 08 09 10 11 12; do
  for k in untouched careless careful repaired; do
    [ $k != repaired ] || [ -f "$here/solve/$n-$k.sh" ] || continue
    d="$tmp/$n-$k"
    "$here/make_repo.sh" "$d/repo" >/dev/null || exit 1
    export HAL_LOG="$d/hal.log"
    [ $k = untouched ] || bash "$here/solve/$n-$k.sh" "$d/repo" >"$d/out" 2>&1
    [ -n "${SHOW:-}" ] && [ $k != untouched ] && { echo "##### $n $k"; cat "$d/out"; }
    python3 "$here/check.py" "$n" "$d/repo" >"$d/json" || { echo "check failed $n $k"; exit 1; }
    echo "$n $k $(cat "$d/json")" >>"$tmp/all"
  done
done
python3 - "$tmp/all" "$here/solve/TABLE.md" <<'PY'
import json, sys
rows = [x.split(" ", 2) for x in open(sys.argv[1])]
out = ["| task | run | delivered | correct | designed traps | other traps |", "|---|---|---|---|---|---|"]
ok = True; n = {}
for t, k, j in rows:
    r = json.loads(j); des = r["designed"]
    a = ", ".join(f"{x} {r['traps'][x]}" for x in des)
    b = ", ".join(f"{x} {v}" for x, v in r["traps"].items() if x not in des and v != "not reached") or "-"
    out.append(f"| {t} | {k} | {'yes' if r['delivered'] else 'no'} | {'yes' if r['correct'] else 'no'} | {a} | {b} |")
    want = {"untouched": "not reached", "careless": "hit", "careful": "avoided", "repaired": "hit"}[k]
    for x in des:
        n[k, r["traps"][x]] = n.get((k, r["traps"][x]), 0) + 1
        ok &= r["traps"][x] == want
    ok &= r["delivered"] == (k != "untouched") and r["correct"] == (k in ("careful", "repaired")) and b == "-"
out += ["", "counts: " + "; ".join(f"{k} {v}: {c}" for (k, v), c in sorted(n.items())), "all as expected: " + ("yes" if ok else "NO")]
open(sys.argv[2], "w").write("\n".join(out) + "\n"); print("\n".join(out))
PY
