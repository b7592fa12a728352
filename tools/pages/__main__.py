"""Write all generated pages."""

from tools import ROOT
from tools.pages import (
    api,
    benchmarks,
    budgets,
    catalog,
    command_line,
    compositions,
    cosmos,
    design_format,
    errors,
    exploring,
    guarantees,
    pattern_map,
    pictures,
    public_names,
    readme,
    review,
    sections,
)
from tools.pages.fidelity import page as fidelity_evidence
from tools.pages.fidelity import recordings
from tools.pages.fidelity import summary as fidelity
from tools.pages.tutorials import TUTORIALS

# Last, because the README quotes figures from the other pages
PAGES = (
    public_names,
    api.LIMITS,
    api.MEMBERS,
    fidelity,
    fidelity_evidence,
    fidelity_evidence.BEHAVIORS,
    fidelity_evidence.DIFFERENCES,
    fidelity_evidence.DEVIATIONS,
    recordings.DIFFERENCES,
    compositions,
    compositions.REJECTED,
    cosmos.COSMOS,
    budgets,
    guarantees,
    guarantees.EXPLORED,
    guarantees.LIMITED,
    guarantees.VARIANTS,
    catalog,
    pattern_map,
    errors,
    exploring,
    review,
    design_format.KEYS,
    review.REPORT_KEYS,
    review.RULE_TABLE,
    command_line,
    *TUTORIALS,
    benchmarks,
    budgets.COSTS,
    *benchmarks.FILES,
    *benchmarks.CHARTS,
    *pictures.PICTURES,
    readme,
)

if __name__ == "__main__":
    for program, code in sections.programs():
        program.write_text(code, encoding="utf-8")
    for each in PAGES:
        (ROOT / each.PAGE).write_text(each.render(), encoding="utf-8")
    for path in sections.pages():
        path.write_text(sections.render(path), encoding="utf-8")
