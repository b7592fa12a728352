// How the search of the site orders what it finds: answers to questions first, then pages, then notebooks and reference.
const PARTS = [
  [/^(questions|choosing-a-pattern|tables-in-pictures)$/, 4],
  [/^(decisions|reviews|notebooks)\//, -12],
  [/^api\//, -6],
  [/^(examples|writing-a-pattern-page|guarantees|fidelity|benchmarks|architecture|errors|compositions|command-line)$/, -3],
];

// The other weights are those of Sphinx
var Scorer = {
  score: ([page, , , , score]) => score + PARTS.reduce((sum, [part, weight]) => sum + (part.test(page) ? weight : 0), 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
