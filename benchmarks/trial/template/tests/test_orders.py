from service import orders


def test_parse():
    assert orders.parse("BR12 x 40; SH08 x 6") == [("BR12", 40.0), ("SH08", 6.0)]


def test_parse_without_quantity():
    try:
        orders.parse("BR12")
    except ValueError:
        return
    raise AssertionError("no error")


def test_merge():
    assert orders.merge([("A", 1), ("B", 2), ("A", 3)]) == [("A", 4), ("B", 2)]


def test_total():
    assert orders.total([("A", 2), ("B", 1)], {"A": 1.5, "B": 4}) == 7.0
