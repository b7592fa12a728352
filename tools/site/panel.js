// The editor of a program, its buttons, and what it prints, sends and stores. esbuild bundles it with CodeMirror.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { send, stop } from "./client.js";
import { share } from "./link.js";
import { made, requestsOf, storedIn } from "./views.js";

const MAX_OUTPUT = 200_000;
// The place whose program runs: one at a time
let running;

// The style sheet has the colors, for light and dark
const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null], class: "tp-keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "tp-string" },
  { tag: tags.comment, class: "tp-comment" },
  { tag: tags.number, class: "tp-number" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], class: "tp-function" },
]);

function shown(step, isLast) {
  const kinds = [...new Set(step.stored.flatMap((table) => table.rows.map((row) => row.kind)).filter(Boolean))];
  kinds.sort((one, other) => one.startsWith("rows of") - other.startsWith("rows of"));
  const legend = kinds.map((kind, number) => made("span", { className: `tp-kind${number % 5}`, textContent: kind }));
  return made("details", { className: "tp-step", open: isLast },
    made("summary", { textContent: `${step.name}: ${step.cost || "no requests"}` }),
    ...(step.requests.length ? [requestsOf(step)] : []),
    ...step.stored.map((table) => storedIn(table, kinds)),
    ...(kinds.length ? [made("p", { className: "tp-legend" }, ...legend)] : []));
}

// ---------------------------------------------------------------- the panel

// Opens the editor with the page's program, which runs, or with that of a link, which the reader may run
export function open(place, linked) {
  const source = place.querySelector("pre"), program = source.textContent;
  const buttons = made("p", { className: "tp-buttons" });
  const run = made("button", { type: "button", textContent: "Run", title: "Ctrl+Enter" });
  const reset = made("button", { type: "button", textContent: "Reset" });
  const link = made("button", { type: "button", textContent: "Copy link", title: "A link that holds this program" });
  const note = made("span", { className: "tp-note" });
  note.setAttribute("role", "status");
  const output = made("pre", { className: "tp-out", hidden: true, tabIndex: 0 });
  output.setAttribute("aria-label", "Output");
  const steps = made("div", { className: "tp-steps" });
  const holder = made("div", { className: "tp-editor" });
  buttons.append(run, reset, link, note);
  place.replaceChildren(source, holder, buttons, output, steps);
  const onKey = () => (place.dataset.state === "running" || toggle(), true);
  const editor = new EditorView({
    parent: holder,
    state: EditorState.create({
      doc: linked ?? program,
      extensions: [
        lineNumbers(), history(), bracketMatching(), python(), indentUnit.of("    "), syntaxHighlighting(highlighting),
        keymap.of([{ key: "Mod-Enter", run: onKey }, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": "Program. Ctrl+Enter runs it; Escape, then Tab, leaves the editor." }),
      ],
    }),
  });
  place.editor = editor;

  let waiting = "", length = 0;
  const flush = () => {
    output.hidden = false;
    output.append(waiting);
    waiting = "";
  };
  const print = (text) => {
    if (length >= MAX_OUTPUT) return;
    length += text.length;
    if (!waiting) requestAnimationFrame(flush);
    waiting += length < MAX_OUTPUT ? text : `${text}\n(Further output is not shown.)\n`;
  };
  const finish = (state, text) => {
    if (waiting) flush();
    place.dataset.state = state;
    run.textContent = "Run";
    note.textContent = text;
    if (running === place) running = undefined;
  };
  const receive = (data) => {
    if (data.kind === "status") note.textContent = data.text;
    else if (data.kind === "output") print(data.text);
    else if (data.kind === "log") {
      flush();
      output.append(made("span", { className: "tp-log", textContent: data.text }));
    }
    else if (data.kind === "step") {
      steps.querySelectorAll("details").forEach((each) => { each.open = false; });
      steps.append(shown(data.step, true));
    } else if (data.kind === "failed") {
      if (waiting) flush();
      output.hidden = false;
      output.append(made("span", { className: "tp-error", textContent: data.text }));
      finish("failed", "");
    } else if (data.kind === "stopped") finish("stopped", "Stopped. Python loads again for the next run.");
    else finish("done", `${data.cost}, ${Math.round(data.seconds * 1000)} ms`);
  };
  function toggle() {
    if (place.dataset.state === "running") return stop({ ...place.dataset });
    if (running) stop({ ...place.dataset });
    output.replaceChildren();
    output.hidden = true;
    steps.replaceChildren();
    waiting = ""; length = 0;
    place.dataset.state = "running";
    run.textContent = "Stop";
    running = place;
    send({ ...place.dataset, kind: "run", program: editor.state.doc.toString() }, receive);
  }
  run.onclick = toggle;
  reset.onclick = () => editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: program } });
  link.onclick = async () => { note.textContent = await share("program", editor.state.doc.toString()); };
  if (linked === undefined) toggle();
  else note.textContent = "This program is from the link, not from this site. Read it before you run it.";
  editor.focus();
}
