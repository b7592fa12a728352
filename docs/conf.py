"""How the site is built: `make docs`."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from sphinx.application import Sphinx

# The extensions are in tools
sys.path.insert(0, str(Path(__file__).parents[1]))

# Pages live until the end: looking for garbage among them takes a fifth of the time
gc.disable()

project = "tablepatterns"
author = "the tablepatterns contributors"
project_copyright = f"2026, {author}"
html_title = "tablepatterns"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "tools.sphinx_extensions.docstrings",
    "tools.sphinx_extensions.linked_names",
    "tools.sphinx_extensions.markdown_pages",
    "tools.sphinx_extensions.notebook_pages",
    "tools.sphinx_extensions.run_button",
]
exclude_patterns = ["_build", "data", "patterns/code", "patterns/schedules", "code"]
# An unknown reference is an error of the page, but for names of other libraries and of what is not public
nitpicky = True
nitpick_ignore_regex = [("py:.*", r".*")]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "tasklist"]
# The reader of the review sheet ticks its boxes
myst_enable_checkboxes = True
myst_heading_anchors = 3
# A link to a file of the repository that is no page is refused
myst_all_links_external = False

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_inherit_docstrings = False
# Docstrings write code between single backticks; where it is a public name, it becomes a link
default_role = "py:obj"
add_module_names = False
python_use_unqualified_type_names = True
# Quotation marks and ellipses, but no dashes: "--fix" is an option
smartquotes_action = "qe"
highlight_language = "text"

html_theme = "furo"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
# The map has links in it, which work from here; the other is the earlier address of the catalog
html_extra_path = ["pattern_map.svg", "catalogue.html"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("search_scorer.js"))
html_copy_source = False
html_show_sphinx = False
templates_path: list[str] = []

linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_anchors = False
linkcheck_ignore = [r"http://127\.0\.0\.1.*", r"http://localhost.*"]


def setup(app: Sphinx) -> None:
    """Leave the evidence out of the search: its many words would come before the pages that readers look for."""
    app.connect("env-updated", lambda app, env: env.metadata["fidelity-evidence"].update(nosearch="true"))
