"""Write a review as text, Markdown, JSON or an HTML page.

wording    figures as people read them
sentences  what the figures come to
sheet      one table, as data; sheets: all of them
advice     one finding, as labelled lines
text, markdown, json, html    the four forms
plots      the pictures of the page; canvas: how they become SVG
"""

from .html import html
from .json import as_json
from .markdown import markdown
from .text import text

__all__ = ["as_json", "html", "markdown", "text"]
