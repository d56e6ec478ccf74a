"""docs/benchmarks.md shows the figures in benchmarks/results/."""

from page import PAGE, RESULTS, page, read_calls, read_peers, read_web


def test_the_page_is_up_to_date() -> None:
    made = page(read_calls(RESULTS), read_web(RESULTS), read_peers(RESULTS))
    assert PAGE.read_text(encoding="utf-8") == made, "run: python benchmarks/page.py"
