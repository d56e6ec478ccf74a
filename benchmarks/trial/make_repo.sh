#!/usr/bin/env bash
# make_repo.sh DEST - a fresh Halyard repository in DEST (must not exist or be empty)
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
dest="${1:?usage: make_repo.sh DEST}"
mkdir -p "$dest"; dest="$(cd "$dest" && pwd)"
[ -z "$(ls -A "$dest")" ] || { echo "make_repo.sh: $dest is not empty" >&2; exit 1; }
cp -r "$here/template/." "$dest/"
find "$dest" -name __pycache__ -prune -exec rm -rf {} +
mkdir -p "$dest/tools" "$dest/var"
cp -r "$here/seed/." "$dest/var/"
python3 - "$here" "$dest" <<'PY'
import io, os, py_compile, sys, tempfile, zipfile
here, dest = sys.argv[1:]
with tempfile.TemporaryDirectory() as t:
    c = os.path.join(t, "m.pyc")
    py_compile.compile(f"{here}/halsrc/__main__.py", c, dfile="hal", doraise=True, optimize=2,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    code = open(c, "rb").read()
b = io.BytesIO()
with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr(zipfile.ZipInfo("__main__.pyc", (2026, 4, 2, 7, 0, 0)), code, zipfile.ZIP_DEFLATED)
open(f"{dest}/tools/hal.pyz", "wb").write(b"#!/usr/bin/env python3\n" + b.getvalue())
PY
chmod +x "$dest/hal" "$dest/run" "$dest/tools/hal.pyz"
cd "$dest"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main .
git config user.name "Halyard back office"; git config user.email office@halyard.example; git config core.autocrlf false
git add -A
tmp="$(mktemp -d)"; HAL_LOG="$tmp/log" ./hal config build >/dev/null; rm -rf "$tmp"
python3 - <<'PY'
import hashlib, json
b = open("gen/rules.json", "rb").read()
json.dump({"since": "2026-04-07 07:10", "hash": hashlib.sha256(b).hexdigest()[:4], "rules": json.loads(b)}, open("var/desk.json", "w"), indent=1)
PY
git rm -rq --cached .
c() { # DATE AUTHOR MESSAGE FILES...
  local d="$1" a="$2" m="$3"; shift 3
  git add -- "$@"
  GIT_AUTHOR_DATE="$d +0000" GIT_COMMITTER_DATE="$d +0000" GIT_COMMITTER_NAME="$a" GIT_COMMITTER_EMAIL="${a,,}@halyard.example" \
    git commit -q --author "$a <${a,,}@halyard.example>" -m "$m"
}
c "2025-09-02 08:11:00" Jakub "Start of the back office: service, orders, depots" .gitignore service/__init__.py service/depots.py service/orders.py config/depots.toml tests/test_orders.py
c "2025-10-13 14:40:00" Jakub "hal: stock service, tickets, migrations" hal tools migrations/001_tables.json migrations/002_zones.json fixtures
c "2025-11-17 09:05:00" Ines "Web pages, incident in Faro" docs/pages
c "2025-12-01 16:22:00" Eleni "Labels, cut at 32 characters" service/labels.py tests/test_labels.py docs/releases/2.7.0.md
c "2026-01-09 10:30:00" Jakub "Pricing desk: rules, promos, surcharges, closures" config
c "2026-02-19 11:47:00" Solveig "Movements and pick-ups of February" data/movements-2026-02-w09.csv data/pickups-2026-02.csv service/movements.py service/dispatches.py tests/test_movements.py
c "2026-03-06 15:18:00" Duarte "Movements of week 10, minimums per depot" data/movements-2026-03-w10.csv data/minimums.csv service/stockclient.py
c "2026-04-02 07:03:00" Jakub "Release 2.8.0: carriers, compiled rules" VERSION docs/releases/2.8.0.md migrations/003_carriers.json data/carriers.csv gen
c "2026-05-11 12:26:00" Ines "README, handbook, incoming files of May" README.md run docs data out
[ -z "$(git status --porcelain)" ] || { echo "make_repo.sh: tree not clean" >&2; git status --short >&2; exit 1; }
echo "$dest ready, HEAD $(git rev-parse --short HEAD)"
