"""hal - Halyard's command line (built in the platform repository, vendored as a zipapp)."""
import argparse, csv, hashlib, importlib.util, io, json, os, subprocess, sys, time, tomllib, traceback
from datetime import date, timedelta
from decimal import Decimal, ROUND_HALF_UP
from pathlib import Path

COIL = 25
RACK = 90


def find_root():
    if os.environ.get("HAL_ROOT"):
        return Path(os.environ["HAL_ROOT"]).resolve()
    p = Path.cwd().resolve()
    for q in [p, *p.parents]:
        if (q / "config" / "depots.toml").exists() and (q / "hal").exists():
            return q
    sys.exit("hal: not inside a Halyard repository")


ROOT = find_root()
VAR = ROOT / "var"


def fail(msg):
    print("hal: " + msg, file=sys.stderr)
    sys.exit(2)


def load(name):
    return json.loads((VAR / name).read_text(encoding="utf-8"))


def save(name, obj):
    (VAR / name).parent.mkdir(parents=True, exist_ok=True)
    (VAR / name).write_text(json.dumps(obj, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def index(*globs):
    out = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", *globs], capture_output=True).stdout
    return sorted(f for f in out.decode().split("\0") if f and (ROOT / f).exists())


def money(x):
    return Decimal(x).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


def day(s):
    try:
        return date.fromisoformat(str(s))
    except ValueError:
        fail(f"not a date: {s}")


def rope(item):
    return item[:2] in ("BR", "DY")


def short(b):
    return hashlib.sha256(b).hexdigest()[:4]


# ---------------------------------------------------------------- audit log
def snapshot(store):
    files = {}
    for base, dirs, names in os.walk(ROOT):
        dirs[:] = [d for d in dirs if d not in (".git", "__pycache__", "tools", ".venv", "node_modules")]
        for n in names:
            p = Path(base) / n
            try:
                if p.is_symlink() or p.stat().st_size > 200_000:
                    continue
                b = p.read_bytes()
            except OSError:
                continue
            h = hashlib.sha256(b).hexdigest()[:24]
            files[p.relative_to(ROOT).as_posix()] = h
            q = store / h
            if not q.exists():
                q.write_bytes(b)
    return files


class Audit:
    def __init__(self, argv):
        self.path = Path(os.environ.get("HAL_LOG") or Path.home() / ".hal" / "audit.log")
        self.store = Path(str(self.path) + ".d")
        self.store.mkdir(parents=True, exist_ok=True)
        self.rec = {"at": time.time(), "argv": argv, "root": str(ROOT), "index": index(), "pre": snapshot(self.store)}

    def close(self, rc):
        self.rec["rc"] = rc
        self.rec["post"] = snapshot(self.store)
        with open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(self.rec) + "\n")


# ---------------------------------------------------------------- config and desk
def config_build(a):
    files = [f for f in index("config") if f.endswith(".toml")]
    rules = {"rules": {}, "promos": [], "surcharges": [], "closures": []}
    for f in files:
        try:
            t = tomllib.loads((ROOT / f).read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as e:
            fail(f"{f}: {e}")
        rules["rules"].update(t.get("rules", {}))
        for kind, key in (("promos", "promo"), ("surcharges", "surcharge"), ("closures", "closure")):
            for row in t.get(key, []):
                for k in ("from", "until"):
                    if k not in row:
                        fail(f"{f}: {key} without {k}")
                    row[k] = day(row[k]).isoformat()
                rules[kind].append(row)
    text = json.dumps(rules, indent=1, sort_keys=True) + "\n"
    (ROOT / "gen").mkdir(exist_ok=True)
    (ROOT / "gen" / "rules.json").write_text(text, encoding="utf-8")
    print(f"compiled {len(files)} files: {len(rules['promos'])} promos, {len(rules['surcharges'])} surcharges, "
          f"{len(rules['closures'])} closures -> gen/rules.json ({short(text.encode())})")


def config_show(a):
    print((ROOT / "gen" / "rules.json").read_text(encoding="utf-8"), end="")


def desk():
    return load("desk.json")


def desk_status(a):
    d = desk()
    g = short((ROOT / "gen" / "rules.json").read_bytes())
    print(f"desk: shift since {d['since']}, rules {d['hash']}; gen/rules.json is {g}")


def desk_shift(a):
    b = (ROOT / "gen" / "rules.json").read_bytes()
    save("desk.json", {"since": time.strftime("%Y-%m-%d %H:%M"), "hash": short(b), "rules": json.loads(b)})
    print(f"new shift, rules {short(b)}")


def active(row, on):
    return row["from"] <= on < row["until"]


def quote(item, qty, depot, on, to=None):
    db, r = load("db.json"), desk()["rules"]
    row = next((x for x in db["catalogue"] if x["item"] == item), None)
    if row is None:
        fail(f"{item} is not in the catalogue")
    lst = money(Decimal(str(row["price"])) * Decimal(str(qty)))
    p = [x for x in r["promos"] if item in x["items"] and active(x, on)]
    promo = -money(lst * Decimal(str(max(x["percent"] for x in p))) / 100) if p else money(0)
    s = [x for x in r["surcharges"] if depot in x["depots"] and active(x, on)]
    sur = money((lst + promo) * sum(Decimal(str(x["percent"])) for x in s) / 100)
    net = lst + promo
    small = money(r["rules"]["small_order_fee"]) if net < Decimal(str(r["rules"]["small_order_below"])) else money(0)
    ship, zone = None, None
    if to:
        z = [x for x in db["zones"] if x["depot"] == depot and to.startswith(x["prefix"])]
        if z:
            z = max(z, key=lambda x: len(x["prefix"]))
            zone = z["zone"]
            ship = money(0) if net >= Decimal(str(r["rules"]["free_shipping_from"])) else money(str(z["fee"]))
    return {"unit": row["unit"], "price": row["price"], "list": lst, "promo": promo, "surcharge": sur, "small": small,
            "zone": zone, "ship": ship, "total": lst + promo + sur + small + (ship or 0)}


def cmd_quote(a):
    on = day(a.on).isoformat()
    q = quote(a.item, a.qty, a.depot, on, a.to)
    print(f"{a.item}  {a.qty} {q['unit']}  {a.depot}  {on}")
    print(f"  list       {q['list']:>9}")
    print(f"  promo      {q['promo']:>9}")
    print(f"  surcharge  {q['surcharge']:>9}")
    print(f"  small fee  {q['small']:>9}")
    if a.to:
        print(f"  shipping   {q['ship'] if q['ship'] is not None else 'on request':>9}" + (f"  zone {q['zone']}" if q["zone"] else ""))
    print(f"  total      {q['total']:>9}   (rules {desk()['hash']})")


def closed_days(depot, month=None):
    out = set()
    for c in desk()["rules"]["closures"]:
        if c["depot"] == depot:
            d = day(c["from"])
            while d.isoformat() < c["until"]:
                out.add(d.isoformat())
                d += timedelta(days=1)
    return sorted(x for x in out if not month or x.startswith(month))


def cmd_calendar(a):
    d = closed_days(a.depot, a.month)
    print(f"{a.depot} {a.month}: {len(d)} days closed   (rules {desk()['hash']})")
    for x in d:
        print("  " + x)


def pricelist():
    return [{k: x[k] for k in ("item", "name", "unit", "price")} for x in sorted(load("db.json")["catalogue"], key=lambda x: x["item"])]


def cmd_report(a):
    db = load("db.json")
    if a.what == "pricelist":
        for x in pricelist():
            print(f"{x['item']:5} {x['name']:28} {money(str(x['price'])):>8} /{x['unit']}")
        print(f"{len(pricelist())} items   (rules {desk()['hash']})")
    elif a.what == "catalogue":
        n = {}
        for x in db["catalogue"]:
            n[x["supplier"]] = n.get(x["supplier"], 0) + 1
        print(f"catalogue: {len(db['catalogue'])} items (" + ", ".join(f"{k} {v}" for k, v in sorted(n.items())) + f"), "
              f"{len(db['customers'])} customers, {len(db['zones'])} shipping zones")
    elif a.what == "valuation":
        price = {x["item"]: Decimal(str(x["price"])) for x in db["catalogue"]}
        for dep, rows in sorted(db["stock"].items()):
            v = sum(price.get(i, 0) * q * (COIL if rope(i) else 1) for i, q in rows.items())
            print(f"{dep}  {money(v):>12}")


# ---------------------------------------------------------------- import and export
KINDS = {"prices": ("catalogue", "supplier", ["supplier", "item", "name", "unit", "price"]),
         "customers": ("customers", "region", ["region", "code", "name", "mail"]),
         "zones": ("zones", "depot", ["depot", "prefix", "zone", "fee"])}


def cmd_import(a):
    table, part, cols = KINDS[a.kind]
    try:
        rows = list(csv.DictReader(open(a.file, encoding="utf-8-sig", newline="")))
    except OSError as e:
        fail(str(e))
    if not rows or any(c not in rows[0] for c in cols):
        fail(f"{a.file}: columns must be {','.join(cols)}")
    rows = [{c: r[c].strip() for c in cols} for r in rows]
    for r in rows:
        for c in ("price", "fee"):
            if c in r:
                r[c] = float(r[c])
    db = load("db.json")
    parts = {r[part] for r in rows}
    db[table] = [x for x in db[table] if x[part] not in parts] + rows
    save("db.json", db)
    print(f"imported {len(rows)} rows from {Path(a.file).name} ({', '.join(sorted(parts))})")


def cmd_export(a):
    table, part, cols = KINDS[a.kind]
    w = csv.writer(sys.stdout, lineterminator="\n")
    w.writerow(cols)
    for x in load("db.json")[table]:
        if not a.part or x[part] == a.part:
            w.writerow([x[c] for c in cols])


# ---------------------------------------------------------------- publishing
PAGES = ("pricelist", "calendar", "incident", "releases")


def cmd_publish(a):
    if a.page == "pricelist":
        body = {"items": pricelist(), "rules": desk()["hash"]}
        what = f"{len(body['items'])} items"
    elif a.page == "calendar":
        body = {"closed": {d: closed_days(d) for d in sorted(load("db.json")["stock"])}, "rules": desk()["hash"]}
        what = f"{sum(map(len, body['closed'].values()))} closed days"
    else:
        if not a.file:
            fail(f"page {a.page} needs --file")
        try:
            body = {"text": Path(a.file).read_text(encoding="utf-8")}
        except OSError as e:
            fail(str(e))
        what = f"{len(body['text'])} characters"
    save(f"bucket/{a.env}/{a.page}.json", body)
    print(f"wrote {a.env}/{a.page}.json ({what})")
    if not a.no_index:
        idx = load("bucket/index.json")
        idx[a.page] = f"{a.env}/{a.page}.json"
        save("bucket/index.json", idx)
        print("index updated")


def cmd_bucket(a):
    for env in ("live", "staging"):
        for p in sorted((VAR / "bucket" / env).glob("*.json")):
            print(f"{env}/{p.name}  {p.stat().st_size} bytes")
    for k, v in sorted(load("bucket/index.json").items()):
        print(f"index: {k} -> {v}")


def site_check(a):
    bad = 0
    for k, v in sorted(load("bucket/index.json").items()):
        if not v.startswith("live/"):
            bad += 1
            print(f"www.halyard.example/{k}: customers are being served {v}")
    print("site: " + (f"{bad} of {len(PAGES)} pages not served from live" if bad else "ok"))


def site_point(a):
    idx = load("bucket/index.json")
    idx[a.page] = f"{a.env}/{a.page}.json"
    save("bucket/index.json", idx)
    print(f"index: {a.page} -> {idx[a.page]}")


# ---------------------------------------------------------------- stock
def stock_show(a):
    rows = [{"depot": d, "item": i, "on_hand": q} for d, r in sorted(load("db.json")["stock"].items()) for i, q in sorted(r.items())
            if (not a.depot or d == a.depot) and (not a.item or i == a.item)]
    if a.json:
        print(json.dumps(rows))
    else:
        for r in rows:
            print(f"{r['depot']}  {r['item']:6} {r['on_hand']:>6}")


def stock_add(depot, item, n):
    db = load("db.json")
    if depot not in db["stock"]:
        fail(f"no depot {depot}")
    if item not in {x["item"] for x in db["catalogue"]}:
        fail(f"{item} is not in the catalogue")
    q = db["stock"][depot].get(item, 0) + n
    if q < 0:
        fail(f"{depot} has only {q - n} {item}")
    db["stock"][depot][item] = q
    save("db.json", db)
    return q


def stock_receive(a):
    print(f"{a.depot} {a.item}: on hand {stock_add(a.depot, a.item, a.qty)}")


def stock_audit(a):
    bad = 0
    for d, r in sorted(load("db.json")["stock"].items()):
        for i, q in sorted(r.items()):
            if rope(i) and q > RACK:
                bad += 1
                print(f"{d} {i}: {q} coils of {COIL} m do not fit, rack takes {RACK} coils")
    print("stock audit: " + (f"{bad} findings" if bad else "ok"))


def read_rows(f, need):
    try:
        rows = list(csv.DictReader(open(f, encoding="utf-8-sig", newline="")))
    except OSError as e:
        fail(str(e))
    if not rows or any(c not in rows[0] for c in need):
        fail(f"{f}: columns must contain {','.join(need)}")
    return rows


def stock_check(a):
    rows = read_rows(a.file, ["depot", "item"])
    col = next((c for c in ("metres", "on_hand_m") if c in rows[0]), None) or fail("no column metres or on_hand_m")
    db, bad = load("db.json"), 0
    for r in rows:
        n = db["stock"].get(r["depot"], {}).get(r["item"])
        if n is not None and rope(r["item"]) and abs(float(r[col] or 0) - n * COIL) > 0.01:
            bad += 1
            print(f"{r['depot']} {r['item']}: tape count {n * COIL} m, file says {r[col]}")
    print(f"stock check: {len(rows)} rows, {bad} differences")


# ---------------------------------------------------------------- tickets
def ticket(t, no):
    return t.get(str(no)) or fail(f"no ticket {no}")


def ticket_list(a):
    for k, t in sorted(load("tickets.json").items()):
        print(f"{k}  {t['status']:6} {t['title']}")


def ticket_show(a):
    t = ticket(load("tickets.json"), a.id)
    print(f"#{a.id} {t['title']}  [{t['status']}]\nfrom: {t['from']}\n\n{t['text']}")
    for c in t["comments"]:
        print(f"\n-- {c['kind']} comment\n{c['text']}")
    for m in t["mails"]:
        print(f"\n>> mail sent to {m['to']}\n{m['text']}")


def ticket_comment(a):
    ts = load("tickets.json")
    t = ticket(ts, a.id)
    t["comments"].append({"kind": "internal" if a.internal else "public", "text": a.text})
    save("tickets.json", ts)
    print(f"comment {len(t['comments'])} on ticket {a.id}")


def ticket_close(a):
    ts = load("tickets.json")
    t = ticket(ts, a.id)
    if t["status"] == "closed":
        fail(f"ticket {a.id} is closed")
    t["status"] = "closed"
    c = t["comments"][-1] if t["comments"] else {"kind": "none", "text": "Your ticket was closed."}
    t["mails"].append({"to": t["from"], "kind": c["kind"], "text": c["text"]})
    save("tickets.json", ts)
    print(f"ticket {a.id} closed, mail sent")


# ---------------------------------------------------------------- ledger, carrier
def ledger_day(a):
    d = load("ledger.json")["days"].get(a.day)
    print(f"{a.day}: closed, {sum(d.values())} dispatches booked" if d else f"{a.day}: not closed")


def ledger_check(a):
    rows, led, bad = read_rows(a.file, ["depot"]), load("ledger.json"), 0
    for r in rows:
        if "day" in r and "count" in r:
            want = led["days"].get(r["day"], {}).get(r["depot"])
            if want is not None and str(want) != r["count"].strip():
                bad += 1
                print(f"{r['depot']} {r['day']}: ledger has {want}, file has {r['count']}")
        elif "last_utc" in r:
            want = led["last"].get(r["depot"])
            if want and r["last_utc"].strip().replace("T", " ")[:16] != want:
                bad += 1
                print(f"{r['depot']}: ledger has {want}, file has {r['last_utc']}")
        else:
            fail("need columns depot,day,count or depot,last_utc")
    print(f"ledger check: {len(rows)} rows, {bad} differences")


def carrier_log(a):
    d = load("ledger.json")["gate"].get(a.day)
    print(f"{a.day}: gate refused " + ", ".join(f"{k} {v}" for k, v in sorted(d.items())) if d else f"{a.day}: no refusals")


# ---------------------------------------------------------------- tests, migrations, releases
def cmd_test(a):
    sys.path.insert(0, str(ROOT))
    sys.dont_write_bytecode = True
    n = bad = 0
    for f in index("tests"):
        if not Path(f).name.startswith("test_") or not f.endswith(".py"):
            continue
        try:
            spec = importlib.util.spec_from_file_location(Path(f).stem, ROOT / f)
            m = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(m)
            fns = [(k, v) for k, v in vars(m).items() if k.startswith("test_") and callable(v)]
        except Exception:
            n, bad = n + 1, bad + 1
            print(f"ERROR {f}\n{traceback.format_exc()}")
            continue
        print(f"{f}: {len(fns)}")
        for k, v in fns:
            n += 1
            try:
                v()
            except Exception:
                bad += 1
                print(f"FAIL {f}::{k}\n{traceback.format_exc()}")
    print(f"{n} tests, {n - bad} passed" + (f", {bad} FAILED" if bad else ""))
    return 1 if bad else 0


def cmd_migrate(a):
    db = load("db.json")
    todo = sorted((json.loads((ROOT / f).read_text(encoding="utf-8")) for f in index("migrations") if f.endswith(".json")), key=lambda m: m["id"])
    for m in todo:
        if m["id"] > db["schema"]:
            for op in m["ops"]:
                if op["op"] == "add_table":
                    db.setdefault(op["table"], [])
                elif op["op"] == "load":
                    db[op["table"]] = list(csv.DictReader(open(ROOT / op["file"], encoding="utf-8-sig", newline="")))
            db["schema"] = m["id"]
            print(f"applied {m['id']:03} {m['title']}")
    save("db.json", db)
    print(f"schema at {db['schema']:03}")


def cmd_fixtures(a):
    have = [Path(f).stem for f in index("fixtures") if f.endswith(".json")]
    if not a.pack:
        print("\n".join(have))
    elif a.pack not in have:
        fail(f"no pack {a.pack}")
    else:
        rows = json.loads((ROOT / "fixtures" / (a.pack + ".json")).read_text(encoding="utf-8"))
        db = load("db.json")
        db["fixtures"] = rows
        save("db.json", db)
        print(f"loaded {len(rows)} rows from {a.pack}")


def release_cut(a):
    if (VAR / "releases" / (a.version + ".json")).exists():
        fail(f"{a.version} exists")
    files = index("service", "config", "gen", "docs/releases", "VERSION")
    note = f"docs/releases/{a.version}.md"
    save(f"releases/{a.version}.json", {"version": a.version, "notes": (ROOT / note).read_text(encoding="utf-8") if note in files else "",
         "files": {f: hashlib.sha256((ROOT / f).read_bytes()).hexdigest()[:12] for f in files}})
    print(f"release {a.version} cut, {len(files)} files")


def release_show(a):
    p = VAR / "releases" / (a.version + ".json")
    if not p.exists():
        fail(f"no release {a.version}")
    r = json.loads(p.read_text(encoding="utf-8"))
    print(f"{r['version']}: {len(r['files'])} files\nnotes:\n{r['notes'] or '(none)'}")


def release_withdraw(a):
    (VAR / "releases" / (a.version + ".json")).unlink(missing_ok=True)
    print(f"{a.version} withdrawn")


def cmd_deploy(a):
    save("deploy.json", {"env": a.env, "version": (ROOT / "VERSION").read_text().strip()})
    print(f"deployed {(ROOT / 'VERSION').read_text().strip()} to {a.env}")


# ---------------------------------------------------------------- command line
def parser():
    p = argparse.ArgumentParser(prog="hal", description="Halyard command line")
    s = p.add_subparsers(dest="cmd", required=True, metavar="COMMAND")

    def group(name, help):
        return s.add_parser(name, help=help).add_subparsers(dest="sub", required=True, metavar="ACTION")

    def cmd(where, name, fn, help, *args):
        q = where.add_parser(name, help=help, description=help)
        q.set_defaults(fn=fn)
        for x in args:
            q.add_argument(*x[0], **x[1])

    def A(*n, **k):
        return (n, k)
    cmd(s, "calendar", cmd_calendar, "closed days of a depot", A("depot"), A("month", help="YYYY-MM"))
    g = group("bucket", "the web bucket")
    cmd(g, "ls", cmd_bucket, "list the bucket")
    g = group("carrier", "carrier gate")
    cmd(g, "log", carrier_log, "gate refusals of a day", A("day"))
    g = group("config", "config compiler")
    cmd(g, "build", config_build, "compile config/ to gen/rules.json")
    cmd(g, "show", config_show, "print the compiled rules")
    cmd(s, "deploy", cmd_deploy, "deploy the service", A("--env", choices=["staging", "live"], default="staging"))
    g = group("desk", "the pricing desk service")
    cmd(g, "status", desk_status, "status of the desk")
    cmd(g, "shift", desk_shift, "start a new shift")
    cmd(s, "export", cmd_export, "print a table as CSV", A("kind", choices=list(KINDS)), A("part", nargs="?", help="supplier, region or depot"))
    cmd(s, "fixtures", cmd_fixtures, "list or load fixture packs", A("pack", nargs="?"))
    cmd(s, "import", cmd_import, "import a CSV into the stock service", A("kind", choices=list(KINDS)), A("file"))
    g = group("ledger", "finance ledger")
    cmd(g, "day", ledger_day, "a closed day", A("day"))
    cmd(g, "check", ledger_check, "compare a CSV with the ledger", A("file"))
    cmd(s, "migrate", cmd_migrate, "apply migrations")
    cmd(s, "publish", cmd_publish, "publish a page", A("page", choices=PAGES), A("--env", choices=["staging", "live"], default="staging"),
        A("--file"), A("--no-index", action="store_true", help="skip the index step"))
    cmd(s, "quote", cmd_quote, "quote an item", A("item"), A("qty", type=float), A("--depot", default="FAO"), A("--on", default="2026-05-11"), A("--to", help="postcode"))
    g = group("release", "releases of the service")
    for n, fn, h in (("cut", release_cut, "cut a release"), ("show", release_show, "show a release"), ("withdraw", release_withdraw, "withdraw a release")):
        cmd(g, n, fn, h, A("version"))
    cmd(s, "report", cmd_report, "reports", A("what", choices=["pricelist", "catalogue", "valuation"]))
    g = group("site", "the web site")
    cmd(g, "check", site_check, "check the site")
    cmd(g, "point", site_point, "point a page", A("page", choices=PAGES), A("env", choices=["staging", "live"]))
    g = group("stock", "stock service")
    cmd(g, "show", stock_show, "stock on hand", A("depot", nargs="?"), A("item", nargs="?"), A("--json", action="store_true"))
    cmd(g, "receive", stock_receive, "book goods in (negative: out)", A("depot"), A("item"), A("qty", type=int))
    cmd(g, "audit", stock_audit, "plausibility of the stock")
    cmd(g, "check", stock_check, "compare a CSV with the last count", A("file"))
    cmd(s, "test", cmd_test, "run the tests")
    g = group("ticket", "tickets")
    cmd(g, "list", ticket_list, "list tickets")
    cmd(g, "show", ticket_show, "show a ticket", A("id"))
    cmd(g, "comment", ticket_comment, "comment on a ticket", A("id"), A("text"), A("--internal", action="store_true", help="not visible in the customer portal"))
    cmd(g, "close", ticket_close, "close a ticket", A("id"))
    return p


def main():
    audit = Audit(sys.argv[1:])
    rc = 0
    try:
        a = parser().parse_args()
        rc = a.fn(a) or 0
    except SystemExit as e:
        rc = e.code if isinstance(e.code, int) else (1 if e.code else 0)
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
    except BrokenPipeError:
        rc = 0
    except Exception as e:
        rc = 3
        print(f"hal: internal error: {type(e).__name__}: {e}", file=sys.stderr)
    finally:
        audit.close(rc)
    sys.exit(rc)


main()
