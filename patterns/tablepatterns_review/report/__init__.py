"""Write a review as text, Markdown, JSON or an HTML page.

formatting  names, sentences and recommendations that all forms share
tables      the tables of a report, as data; charts: the two charts of the page
text, markdown, json, html    the four forms; templates: those of HTML and Markdown
comparison  the tables that compare two designs
"""

from tablepatterns.review.report.html import html
from tablepatterns.review.report.json import as_json
from tablepatterns.review.report.markdown import markdown
from tablepatterns.review.report.text import text

__all__ = ["as_json", "html", "markdown", "text"]
