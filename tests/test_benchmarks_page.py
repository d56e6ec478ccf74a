"""docs/benchmarks.md, the README and the comparison show the figures in benchmarks/results/."""

from page import MADE, PAGE, RESULTS, made_tables, page, read_calls, read_peers, read_web


def test_the_page_is_up_to_date() -> None:
    made = page(read_calls(RESULTS), read_web(RESULTS), read_peers(RESULTS))
    assert PAGE.read_text(encoding="utf-8") == made, "run: python benchmarks/page.py"


def test_the_readme_and_the_comparison_have_the_figures() -> None:
    made = made_tables(read_peers(RESULTS))
    shown = {path: MADE.findall(path.read_text(encoding="utf-8")) for path in made}
    assert shown == {path: [text] for path, text in made.items()}, "run: python benchmarks/page.py"
