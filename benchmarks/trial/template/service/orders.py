"""Order lines as the shop hands them over: 'BR12 x 40; SH08 x 6'."""


def parse(text):
    lines = []
    for part in text.split(";"):
        part = part.strip()
        if not part:
            continue
        item, _, qty = part.partition(" x ")
        if not qty:
            raise ValueError(f"no quantity in {part!r}")
        lines.append((item.strip(), float(qty)))
    return lines


def merge(lines):
    """Adds up lines of the same item, keeps the order of the first."""
    out = {}
    for item, qty in lines:
        out[item] = out.get(item, 0) + qty
    return list(out.items())


def total(lines, prices):
    return round(sum(prices[item] * qty for item, qty in lines), 2)
