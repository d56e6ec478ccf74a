"""The settings of the site: `python -m sphinx -W docs build/site` writes it, and fails at a link without a target."""

project = "Fleet Memory"
author = "the fleet-memory authors"
html_title = "Fleet Memory"
html_theme = "furo"
master_doc = "index"
extensions = ["myst_parser"]
myst_heading_anchors = 4  # pages link to headings as they do on a repository's own pages, e.g. decay.md#stale
myst_enable_extensions = ["attrs_inline"]
exclude_patterns: list[str] = []
html_extra_path: list[str] = []
