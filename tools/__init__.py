"""Programs for working on this project, which are not part of the package.

- `pages` writes the generated parts of the README and of docs: `make pages`
- `reviews` writes the reports of the designs in docs/reviews: `make reviews`
- `recipe` creates the files of a new recipe: `make recipe NAME=...`
- `licenses` writes docs/data/licenses.tsv: `make licenses`
- `sphinx_extensions` formats docstrings and links names when the site is built: `make docs`
"""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
DATA: Final = DOCS / "data"
"""The data of generated pages: records of explorations, rows on fidelity, and tables that pages link to."""
