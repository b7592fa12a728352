// Forms that explain a filter or review a design file in the reader's browser.
import { call } from "./client.js";
import { share } from "./link.js";
import { made } from "./views.js";

const MODULE = "checking";
const FILTER = "PartitionKey eq 'Sales' and Email eq 'jonesj@contoso.com'";
const FIELDS = [
  ["$filter", { value: FILTER, size: 60 }],
  ["PartitionKey", { value: "{Department}", placeholder: "leave empty to explain the filter alone" }],
  ["RowKey", { value: "empid_{EmployeeId:06d}" }],
  ["Entities", { value: 1000000, type: "number", min: 0 }],
  ["Partitions", { value: 40, type: "number", min: 1 }],
  ["Bytes per entity", { value: 500, type: "number", min: 1 }],
];

function explainForm() {
  const inputs = FIELDS.map(([, options]) => made("input", { type: "text", ...options }));
  const labels = FIELDS.map(([name], number) => made("label", {}, name, inputs[number]));
  return { parts: labels, values: () => inputs.map((each) => (each.type === "number" ? each.valueAsNumber || 0 : each.value)) };
}

function reviewForm(design) {
  const text = made("textarea", { value: design, rows: 18, spellcheck: false });
  return { parts: [made("label", {}, "Design file, in TOML", text)], values: () => [text.value] };
}

function shown(found) {
  if (found.error) return [made("pre", { className: "tp-out tp-error", textContent: found.error })];
  if (found.text) return [made("pre", { className: "tp-out", textContent: found.text, tabIndex: 0 })];
  // The report is a page of its own, with a script of its own, which cannot reach this page
  const frame = made("iframe", { title: "The report", srcdoc: found.html, className: "tp-report" });
  frame.sandbox = "allow-scripts";
  const url = URL.createObjectURL(new Blob([found.html], { type: "text/html" }));
  return [made("p", {}, made("a", { href: url, target: "_blank", textContent: "Open the report in a new tab" })), frame];
}

// Opens the form with an example, which is answered, or with the design of a link, which the reader may review
export function open(place, linked) {
  const { kind } = place.dataset;
  const { parts, values } = kind === "review" ? reviewForm(linked ?? place.querySelector("pre").textContent) : explainForm();
  const submit = made("button", { textContent: kind === "review" ? "Review" : "Explain" });
  const note = made("span", { className: "tp-note" });
  note.setAttribute("role", "status");
  const output = made("div", {});
  const link = made("button", { type: "button", textContent: "Copy link", title: "A link that holds this design" });
  link.onclick = async () => { note.textContent = await share("design", values()[0]); };
  const buttons = kind === "review" ? [submit, link] : [submit];
  const form = made("form", { className: "tp-check-form" }, ...parts, made("p", { className: "tp-buttons" }, ...buttons, note));
  form.onsubmit = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    place.dataset.state = "running";
    try {
      const found = await call({ ...place.dataset }, MODULE, [kind, values()], (text) => { note.textContent = text; });
      output.replaceChildren(...shown(found));
      place.dataset.state = "done";
    } catch (error) {
      output.replaceChildren(...shown({ error: error.message }));
      place.dataset.state = "failed";
    }
    note.textContent = "";
    submit.disabled = false;
    submit.focus();
  };
  place.replaceChildren(form, output);
  if (linked === undefined) form.requestSubmit();
  else note.textContent = "This design is from the link, not from this site.";
}
