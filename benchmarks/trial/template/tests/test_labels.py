from service import depots, labels


def test_codes():
    assert depots.codes() == ["BGO", "FAO", "HOR", "LIM"]


def test_line_is_cut():
    assert len(labels.line("BR12", 40, "braid twelve millimetres, white")) == 32


def test_head():
    assert labels.head("LIM", "A-12") == "Halyard Limassol / A-12"
