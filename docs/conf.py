"""The settings of the site: `python -m sphinx -W -n docs build/site` writes it, and fails at a dead
link.
"""

import re
from pathlib import Path
from typing import Final

from sphinx.application import Sphinx

project = "Fleet Memory"
author = "the fleet-memory authors"
html_title = "Fleet Memory"
html_theme = "furo"
extensions = ["myst_parser", "sphinxcontrib.mermaid"]
myst_heading_anchors = (
    4  # pages link to headings as on a repository's own pages, e.g. decay.md#stale
)
myst_fence_as_directive = ["mermaid"]
suppress_warnings = ["misc.highlighting_failure"]  # a quotation of several lines at a prompt

DOCS: Final = Path(__file__).resolve().parent
REPOSITORY: Final = "https://github.com/fleet-memory/fleet-memory"
_LINK_UP: Final = re.compile(r"\]\(((?:\.\./)+[^)#\s]*)")


def setup(app: Sphinx) -> None:
    """Let links from a page to files outside this folder lead to the repository."""
    app.connect("source-read", _link_to_repository)


def _link_to_repository(_: Sphinx, page: str, source: list[str]) -> None:
    """Replace e.g. `](../SECURITY.md` by its address; a file that does not exist stays a dead
    link.
    """

    def address(link: re.Match[str]) -> str:
        target = (DOCS / page).parent.joinpath(link[1]).resolve()
        if target.is_relative_to(DOCS) or not target.exists():
            return link[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{target.relative_to(DOCS.parent).as_posix()}"

    source[0] = _LINK_UP.sub(address, source[0])
