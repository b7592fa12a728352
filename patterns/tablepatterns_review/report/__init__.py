"""Write a review as text, Markdown, JSON or an HTML page.

formatting  names, sentences and recommendations that all forms share
tables      the tables of a report, of its printed page and of a comparison, as data
text, markdown, json, html    the four forms; templates: those of HTML and Markdown
"""

from .html import html
from .json import as_json
from .markdown import markdown
from .text import text

__all__ = ["as_json", "html", "markdown", "text"]
