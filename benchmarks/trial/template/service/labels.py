"""Labels for parcels: one line per order line, at most 32 characters."""
from service import depots


def line(item, qty, name):
    text = f"{qty:g} {item} {name}"
    return text if len(text) <= 32 else text[:31] + "~"


def head(depot, order):
    return f"Halyard {depots.city(depot)} / {order}"
