"""The settings of the site. `python -m sphinx -W -n docs build/site` writes it, and fails at a link without a target."""

project = "Fleet Memory"
author = "the fleet-memory authors"
html_title = "Fleet Memory"
html_theme = "furo"
extensions = ["myst_parser", "sphinxcontrib.mermaid"]
myst_heading_anchors = 4  # pages link to headings as on a repository's own pages, e.g. decay.md#stale
myst_fence_as_directive = ["mermaid"]
