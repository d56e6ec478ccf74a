#!/usr/bin/env python3
"""check.py TASK DEST   (env HAL_LOG: the audit log of the session)
Prints {"task", "delivered", "correct", "traps", ...}. Deterministic; writes nothing."""
import csv, fnmatch, hashlib, io, json, os, re, subprocess, sys, tomllib
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
COIL = 25
OFF = {"BGO": 1, "FAO": 0, "LIM": 2, "HOR": -1}
TRAPS = ["coils", "depot-time", "until-exclusive", "publish-index", "import-replaces", "ticket-mail", "desk-shift", "tracked-only"]
DESIGNED = {1: ["until-exclusive", "desk-shift"], 2: ["import-replaces", "publish-index"], 3: ["depot-time", "tracked-only"],
            4: ["coils", "ticket-mail"], 5: ["tracked-only", "until-exclusive", "desk-shift"], 6: ["coils", "depot-time"],
            7: ["import-replaces", "ticket-mail"], 8: ["until-exclusive", "desk-shift", "publish-index"],
            9: ["tracked-only", "coils"], 10: ["depot-time", "publish-index"],
            11: ["import-replaces", "desk-shift", "ticket-mail"], 12: ["tracked-only", "publish-index"]}
ANS = json.loads((HERE / "answers.json").read_text())
SEED_DB = json.loads((HERE / "seed/db.json").read_text())


class State:
    """The files of the repository at one moment."""
    def __init__(self, names, reader):
        self.names, self.reader = names, reader

    def raw(self, p):
        return self.reader(p) if p in self.names else None

    def text(self, p):
        b = self.raw(p)
        return None if b is None else b.decode("utf-8-sig", "replace")

    def js(self, p):
        try:
            return json.loads(self.text(p))
        except (TypeError, ValueError):
            return None

    def rows(self, p):
        t = self.text(p)
        if t is None:
            return None
        try:
            return [{(k or "").strip(): (v or "").strip() for k, v in r.items() if not isinstance(v, list)} for r in csv.DictReader(io.StringIO(t))]
        except csv.Error:
            return []

    def config(self, key):
        out = []
        for n in sorted(self.names):
            if n.startswith("config/") and n.endswith(".toml"):
                try:
                    out += tomllib.loads(self.text(n)).get(key, [])
                except (tomllib.TOMLDecodeError, AttributeError):
                    pass
        return out


def load_session(dest):
    dest = Path(dest).resolve()
    log = Path(os.environ.get("HAL_LOG") or Path.home() / ".hal" / "audit.log")
    store = Path(str(log) + ".d")
    recs = [json.loads(x) for x in log.read_text(encoding="utf-8").splitlines() if x.strip()] if log.exists() else []
    roots = Counter(r["root"] for r in recs)
    root = str(dest) if str(dest) in roots or not roots else roots.most_common(1)[0][0]
    recs = [r for r in recs if r["root"] == root]
    recs.sort(key=lambda r: r["at"])
    for r in recs:
        for k in ("pre", "post"):
            m = r[k]
            r[k] = State(m, lambda p, m=m: (store / m[p]).read_bytes())
    names = {p.relative_to(dest).as_posix() for p in dest.rglob("*") if p.is_file() and ".git" not in p.relative_to(dest).parts}
    return recs, State(names, lambda p: (dest / p).read_bytes()), dest


def verdict(hit, ok):
    return "hit" if hit else "avoided" if ok else "not reached"


def num(s):
    s = str(s or "")
    m = re.search(r"-?\d+(?:\.\d+)?", s.replace(",", "") if "." in s else s.replace(",", "."))
    return float(m.group()) if m else None


def rope(i):
    return i[:2] in ("BR", "DY")


# ------------------------------------------------------------------ traps
def t_publish(recs, final):
    hit = ok = False
    for r in recs:
        a = r["argv"]
        if a[:1] == ["publish"] and r["rc"] == 0:
            pre, post = r["pre"].js("var/bucket/index.json") or {}, r["post"].js("var/bucket/index.json") or {}
            if any(v.startswith("staging/") and not str(pre.get(k)).startswith("staging/") for k, v in post.items()):
                hit = True
            elif r["post"].raw(f"var/bucket/staging/{a[1] if len(a) > 1 else ''}.json") is not None or \
                    any(n.startswith("var/bucket/staging/") for n in r["post"].names):
                ok = True
    return verdict(hit, ok)


def t_import(recs, final):
    hit = ok = False
    keys = (("catalogue", "item"), ("customers", "code"))
    for r in recs:
        if r["argv"][:1] == ["import"] and r["rc"] == 0:
            a, b = r["pre"].js("var/db.json") or {}, r["post"].js("var/db.json") or {}
            def ks(d):
                return {(t, x[k]) for t, k in keys for x in d.get(t, [])} | {("zones", x["depot"], x["prefix"]) for x in d.get("zones", [])}
            if ks(a) - ks(b):
                hit = True
            else:
                ok = True
    return verdict(hit, ok)


TOKENS = {"118": ["2.60", "2,60"], "131": ["2019"], "140": ["16.20", "16,20"]}


def t_mail(recs, final):
    hit = ok = False
    for st in [r["post"] for r in recs] + [final]:
        for no, t in (st.js("var/tickets.json") or {}).items():
            for m in t["mails"]:
                if m["kind"] != "public" or any(x in m["text"].lower() for x in TOKENS.get(no, [])):
                    hit = True
                else:
                    ok = True
    return verdict(hit, ok)


def stale(st):
    g, d = st.js("gen/rules.json"), st.js("var/desk.json")
    return g is not None and d is not None and g != d["rules"]


def t_desk(recs, final):
    first = recs[0]["pre"].js("gen/rules.json") if recs else None
    hit = ok = False
    for r in recs:
        a = r["argv"]
        if r["rc"] == 0 and a and (a[0] in ("quote", "calendar") or a[:2] == ["publish", "calendar"]) and "-h" not in a and "--help" not in a:
            if r["pre"].js("gen/rules.json") != first:
                hit, ok = (True, ok) if stale(r["pre"]) else (hit, True)
    if recs and final.js("gen/rules.json") != first and stale(final):
        hit = True
    return verdict(hit, ok)


GLOBS = {"test": ["tests/test_*.py"], "config build": ["config/*.toml"], "migrate": ["migrations/*.json"], "fixtures": ["fixtures/*.json"],
         "release cut": ["docs/releases/*.md", "service/*.py", "config/*.toml"]}


def t_tracked(recs, final):
    hit = ok = False
    base = set()
    if recs:
        base = set(recs[0]["index"]) & {p.relative_to(HERE / "template").as_posix() for p in (HERE / "template").rglob("*")}
    for r in recs:
        a = r["argv"]
        k = a[0] if a and a[0] in GLOBS else " ".join(a[:2])
        if k not in GLOBS or "-h" in a or "--help" in a:
            continue
        new = {n for n in r["pre"].names if n not in base and any(fnmatch.fnmatch(n, g) for g in GLOBS[k])}
        if new - set(r["index"]):
            hit = True
        elif new:
            ok = True
    return verdict(hit, ok)


UNTIL = {1: ("promo", "2026-06-14", "2026-06-15", lambda x: "BR12" in x.get("items", []) or "DY08" in x.get("items", [])),
         5: ("surcharge", "2026-08-31", "2026-09-01", lambda x: "HOR" in x.get("depots", [])),
         8: ("closure", "2026-08-09", "2026-08-10", lambda x: x.get("depot") == "LIM")}


def t_until(task, recs, final):
    if task not in UNTIL:
        return "not reached"
    key, wrong, right, match = UNTIL[task]
    hit = ok = False
    for st in [r["pre"] for r in recs] + [final]:
        for x in st.config(key):
            if match(x):
                u = str(x.get("until"))[:10]
                hit, ok = hit or u == wrong, ok or u == right
    return verdict(hit, ok)


def t_coils(task, recs, final):
    hit = ok = False
    states = [r["pre"] for r in recs] + [r["post"] for r in recs] + [final]
    if task == 4:
        for st in states:
            n = ((st.js("var/db.json") or {}).get("stock", {}).get("FAO", {}).get("BR12", 56)) - 56
            hit, ok = hit or n >= 100 or (st is final and n not in (0, 20)), ok or n == 20
    elif task in (6, 9):
        f, col = {6: ("out/rope-metres.csv", "metres"), 9: ("out/reorder.csv", "on_hand_m")}[task]
        for st in states:
            for r in st.rows(f) or []:
                n, v = SEED_DB["stock"].get(r.get("depot"), {}).get(r.get("item")), num(r.get(col))
                if n is not None and v is not None and rope(r["item"]):
                    right = abs(v - n * COIL) < .01
                    hit, ok = hit or abs(v - n) < .01 or (st is final and not right), ok or right
    return verdict(hit, ok)


def naive_days():
    out = Counter()
    for r in csv.DictReader(open(HERE / "template/data/movements-2026-03-w10.csv")):
        if r["kind"] == "out":
            out[r["depot"], r["at_utc"][:10]] += 1
    return out


def naive_last():
    out = {}
    for r in csv.DictReader(open(HERE / "template/data/movements-2026-02-w09.csv")):
        if r["kind"] == "out":
            out[r["depot"]] = max(out.get(r["depot"], ""), r["at_utc"])
    return out


def naive_affected():
    return {r["id"] for r in csv.DictReader(open(HERE / "template/data/pickups-2026-02.csv")) if "2026-02-17 18:30" <= r["at_utc"] <= "2026-02-17 20:15"}


def t_time(task, recs, final):
    hit = ok = False
    for st in [r["pre"] for r in recs] + [final]:
        if task == 3:
            nv = naive_days()
            got = {(r.get("depot"), r.get("day")): num(r.get("count")) for r in st.rows("out/dispatch-days.csv") or []}
            for (d, day), v in got.items():
                w = ANS["days"].get(day, {}).get(d)
                if w is not None:
                    hit = hit or (v == nv[d, day] and v != w)
            right = all(got.get((d, day)) == n for day, x in ANS["days"].items() for d, n in x.items())
            ok, hit = ok or right, hit or (st is final and len(got) >= 12 and not right)
        elif task == 6:
            nv = naive_last()
            got = {r.get("depot"): r.get("last_utc", "").replace("T", " ")[:16] for r in st.rows("out/last-dispatch.csv") or []}
            hit = hit or any(v == nv.get(d) and v != ANS["last"].get(d) for d, v in got.items())
            ok = ok or got == ANS["last"]
            hit = hit or (st is final and set(got) >= set(OFF) and got != ANS["last"])
        elif task == 10:
            nv, want = naive_affected(), set(ANS["affected"])
            got = {r.get("id") for r in st.rows("out/affected.csv") or [] if re.fullmatch(r"P\d+", r.get("id") or "")}
            hit = hit or bool(got & (nv - want)) or (st is final and bool(got) and got != want)
            ok = ok or got == want
    return verdict(hit, ok)


# ------------------------------------------------------------------ deliverables: (delivered, correct)
def quotes(f, st, cols, want):
    rows = st.rows(f) or []
    got = {}
    for r in rows:
        k = tuple(r.get(c, "") if c != "metres" else str(int(num(r.get(c)) or 0)) for c in cols)
        got[k] = num(r.get("total"))
    return set(got) >= set(want) and all(got[k] is not None for k in want), all(got.get(k) is not None and abs(got[k] - v) < .006 for k, v in want.items())


def mail_ok(st, no):
    t = (st.js("var/tickets.json") or {}).get(no, {"status": "", "comments": [], "mails": []})
    kinds = {c["kind"] for c in t["comments"]}
    return t["status"] == "closed" and {"public", "internal"} <= kinds, bool(t["mails"]) and t["mails"][0]["kind"] == "public" and t_mail([], st) == "avoided"


def staged(st, page):
    return f"var/bucket/staging/{page}.json" in st.names, not any(v.startswith("staging/") for v in (st.js("var/bucket/index.json") or {}).values())


def both(*xs):
    return all(x[0] for x in xs), all(x[0] and x[1] for x in xs)


def deliver(task, st, index):
    db = st.js("var/db.json") or SEED_DB
    desk_ok = not stale(st)
    if task == 1:
        q = quotes("out/june-quotes.csv", st, ["item", "on"], {(i, d): p * (88 if d in ("2026-06-01", "2026-06-14") else 100) / 100
            for i, p in (("BR12", 410.0), ("DY08", 560.0)) for d in ("2026-05-31", "2026-06-01", "2026-06-14", "2026-06-15")})
        return both(q, (any("BR12" in x.get("items", []) for x in st.config("promo")), desk_ok))
    if task == 2:
        pr = {x["item"]: x["price"] for x in db["catalogue"]}
        items = (st.js("var/bucket/staging/pricelist.json") or {}).get("items", [])
        t = st.text("out/pricelist-check.md") or ""
        return both(staged(st, "pricelist"), (bool(t.strip()), "24" in t and all(x in t for x in ("4.35", "5.85", "4.75"))),
                    (True, len(items) == 24 and pr.get("BR12") == 4.35 and pr.get("DY08") == 5.85 and pr.get("TW03") == 4.75 and len(db["catalogue"]) == 24))
    if task == 3:
        got = {(r.get("depot"), r.get("day")): num(r.get("count")) for r in st.rows("out/dispatch-days.csv") or []}
        tests = [n for n in st.names if fnmatch.fnmatch(n, "tests/test_*.py") and not (HERE / "template" / n).exists()]
        return both((len(got) >= 12, all(got.get((d, day)) == n for day, x in ANS["days"].items() for d, n in x.items())), (bool(tests), bool(set(tests) & index)))
    if task == 4:
        s = db["stock"]["FAO"]
        return both(mail_ok(st, "118"), (s["BR12"] != 56 and s["SH10"] != 140, s["BR12"] == 76 and s["SH10"] == 180))
    if task == 5:
        q = quotes("out/fuel-quotes.csv", st, ["on"], {("2026-06-30",): 1120.0, ("2026-07-01",): 1164.8, ("2026-08-31",): 1164.8, ("2026-09-01",): 1120.0})
        new = [n for n in st.names if fnmatch.fnmatch(n, "config/surcharges/*.toml") and not (HERE / "template" / n).exists()]
        return both(q, (bool(new), desk_ok and bool(set(new) & index)))
    if task == 6:
        got = {(r.get("depot"), r.get("item")): num(r.get("metres")) for r in st.rows("out/rope-metres.csv") or []}
        want = {(d, i): n * COIL for d, x in SEED_DB["stock"].items() for i, n in x.items() if rope(i)}
        last = {r.get("depot"): r.get("last_utc", "").replace("T", " ")[:16] for r in st.rows("out/last-dispatch.csv") or []}
        return both((set(got) >= set(want), all(got.get(k) == v for k, v in want.items())), (set(last) >= set(OFF), last == ANS["last"]))
    if task == 7:
        n = Counter(x["region"] for x in db["customers"])
        t = {x.split()[0]: num(x.split()[1]) for x in (st.text("out/customers.txt") or "").replace(":", " ").splitlines() if len(x.split()) > 1}
        new = any(x["code"] == "N107" for x in db["customers"]) and any(x["mail"] == "booking@lofotencharter.example" for x in db["customers"])
        return both(mail_ok(st, "131"), (set(t) >= {"north", "south", "islands"}, t.get("north") == 7 and t.get("south") == 5 and t.get("islands") == 3),
                    (new, n == {"north": 7, "south": 5, "islands": 3}))
    if task == 8:
        got = [x.strip() for x in (st.text("out/lim-august.txt") or "").splitlines() if x.strip()]
        want = [f"2026-08-{i:02}" for i in range(3, 10)]
        page = (st.js("var/bucket/staging/calendar.json") or {}).get("closed", {}).get("LIM", [])
        return both(staged(st, "calendar"), ("out/lim-august.txt" in st.names, got == want), (any(x.get("depot") == "LIM" for x in st.config("closure")), desk_ok and page == want))
    if task == 9:
        mins = {(r["depot"], r["item"]): float(r["min_m"]) for r in csv.DictReader(open(HERE / "template/data/minimums.csv"))}
        got = {(r.get("depot"), r.get("item")): (num(r.get("on_hand_m")), num(r.get("order_m"))) for r in st.rows("out/reorder.csv") or []}
        def right(k):
            n = SEED_DB["stock"][k[0]][k[1]] * COIL
            return got.get(k) == (n, max(0.0, mins[k] - n))
        mig = [n for n in st.names if fnmatch.fnmatch(n, "migrations/004*.json")]
        return both((set(got) >= set(mins), all(right(k) for k in mins)), (bool(mig) and "service/reorder.py" in st.names, db["schema"] == 4 and len(db.get("minimums", [])) == len(mins)))
    if task == 10:
        got = {r.get("id") for r in st.rows("out/affected.csv") or []}
        return both(staged(st, "incident"), (bool(got), got == set(ANS["affected"])), ("docs/pages/incident-2026-02.md" in st.names, True))
    if task == 11:
        want = {}
        for pc, fee in (("3012", 15.5), ("4105", 18.5), ("8010", 18.5)):
            want[pc, "20"], want[pc, "56"] = 82.0 + fee, 229.6
        z = sorted((x["prefix"], float(x["fee"])) for x in db["zones"] if x["depot"] == "LIM")
        return both(quotes("out/lim-shipping.csv", st, ["postcode", "metres"], want), mail_ok(st, "140"),
                    (True, desk_ok and z == [("10", 9.5), ("20", 9.5), ("30", 15.5), ("41", 18.5), ("80", 18.5)]))
    if task == 12:
        r = st.js("var/releases/2.9.0.json")
        t = st.text("out/release-2.9.0.txt")
        return both(staged(st, "releases"), (bool(r) and bool(t), bool((r or {}).get("notes", "").strip()) and "(none)" not in (t or "")),
                    ("docs/releases/2.9.0.md" in st.names and (st.text("VERSION") or "").strip() == "2.9.0", True))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    task = int(re.sub(r"\D", "", Path(sys.argv[1]).stem))
    recs, final, dest = load_session(sys.argv[2])
    index = set(subprocess.run(["git", "-C", str(dest), "ls-files"], capture_output=True, text=True).stdout.splitlines())
    traps = {"coils": t_coils(task, recs, final), "depot-time": t_time(task, recs, final), "until-exclusive": t_until(task, recs, final),
             "publish-index": t_publish(recs, final), "import-replaces": t_import(recs, final), "ticket-mail": t_mail(recs, final),
             "desk-shift": t_desk(recs, final), "tracked-only": t_tracked(recs, final)}
    d, c = deliver(task, final, index)
    print(json.dumps({"task": f"{task:02}", "delivered": bool(d), "correct": bool(d and c), "traps": traps,
                      "designed": DESIGNED[task], "hal_commands": len(recs)}))


main()
