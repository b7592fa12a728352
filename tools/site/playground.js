// The pattern playground: a design twice, with plain SDK calls and with a pattern. Each write waits before each of its
// requests, so that the reader can kill the process there.
import { call } from "./client.js";
import { share } from "./link.js";
import { made, storedIn } from "./views.js";

const MODULE = "playground.play";
const SIDES = { plain: "Plain SDK calls", patterned: "With tablepatterns" };
const ENDINGS = { returned: "The call returned.", killed: "The process was killed here." };

const button = (text, onclick, options = {}) => made("button", { type: "button", textContent: text, onclick, ...options });

class Playground {
  constructor(place) {
    this.place = place;
    // What leads to the state that is shown
    this.calls = [];
    this.lastCall = Promise.resolve();
    this.status = made("p", { className: "tp-note" });
    this.status.setAttribute("role", "status");
    place.replaceChildren(this.status);
    place.classList.add("tp-playing");
  }

  // Calls in turn: a reader can press a button before the step before it has ended
  ask(method, ...args) {
    const before = this.lastCall.catch(() => {});
    this.lastCall = before.then(() => this.run(method, ...args));
    return this.lastCall;
  }

  async run(method, ...args) {
    this.place.dataset.state = "running";
    try {
      const found = await call({ ...this.place.dataset }, MODULE, [method, args], (text) => { this.status.textContent = text; });
      this.status.textContent = "";
      this.place.dataset.state = "done";
      return found;
    } catch (error) {
      this.place.dataset.state = "failed";
      this.status.textContent = error.message;
      throw error;
    }
  }

  // Starts with the first design, or repeats calls, of which the first chooses the design
  async start(calls) {
    this.designs = await this.ask("designs");
    const choices = this.designs.map((design) => {
      const radio = made("input", { type: "radio", name: "tp-design", value: design.name, onchange: () => this.choose(design) });
      return made("label", {}, radio, design.title);
    });
    this.form = made("div", { className: "tp-form" });
    this.sides = made("div", { className: "tp-sides" });
    this.race = made("div", { className: "tp-race" });
    const legend = made("legend", { textContent: "Choose a design" });
    this.place.replaceChildren(made("fieldset", { className: "tp-designs" }, legend, ...choices), this.form, this.status, this.sides, this.race);
    const [[, name], ...others] = calls.length ? calls : [["choose", this.designs[0].name]];
    const index = Math.max(0, this.designs.findIndex((design) => design.name === name));
    choices[index].firstChild.checked = true;
    await this.choose(this.designs[index]);
    for (const [method, ...args] of others) await this.show(method, ...args);
  }

  async choose(design) {
    this.design = design;
    this.calls = [];
    this.clock = made("output", { textContent: "0 s" });
    const link = made("a", { href: `${design.page}.html`, textContent: design.pattern });
    const worker = design.hasWorker ? [button("Run a worker", () => this.show("work"))] : [];
    this.form.replaceChildren(
      made("p", {}, `${design.text} Pattern: `, link, "."),
      this.actions("Write", design.writes, (method, fields) => this.show("begin", method, fields)),
      this.actions("Read", design.reads, (method, fields) => this.show("read", method, fields)),
      made("div", { className: "tp-row" }, made("strong", { textContent: "Later" }), ...worker,
        button("Move the clock by 61 s", () => this.show("advance", 61)), made("span", {}, "Passed: ", this.clock),
        button("Start over", () => this.choose(design)),
        button("Copy link", async () => { this.status.textContent = await share("playground", JSON.stringify(this.calls)); }, { title: "A link that holds these steps" })));
    this.race.replaceChildren(
      made("h3", { textContent: "Explore every order of requests" }),
      made("p", { textContent: `${design.race} The explorer runs them in every order, in both variants, and finds the shortest one that breaks the data.` }),
      button("Explore", () => this.explore()));
    await this.show("choose", design.name);
  }

  actions(title, actions, act) {
    const rows = actions.map((action) => {
      const inputs = Object.entries(action.fields).map(([name, value]) => made("input", {
        name, value, type: typeof value === "number" ? "number" : "text", required: true, size: Math.max(4, String(value).length),
      }));
      const labels = inputs.map((input) => made("label", {}, input.name, input));
      const onsubmit = (event) => {
        event.preventDefault();
        act(action.method, Object.fromEntries(inputs.map((each) => [each.name, each.type === "number" ? each.valueAsNumber : each.value])));
      };
      return made("form", { className: "tp-row", onsubmit }, made("button", { textContent: action.label }), ...labels);
    });
    return made("div", { className: "tp-actions" }, made("strong", { textContent: title }), made("div", {}, ...rows));
  }

  async show(method, ...args) {
    const pressed = document.activeElement?.dataset?.key;
    const state = await this.ask(method, ...args);
    this.calls.push([method, ...args]);
    this.clock.textContent = `${state.passed} s`;
    this.sides.replaceChildren(...Object.entries(SIDES).map(([side, title]) => this.side(side, title, state.sides[side])));
    // The button that was pressed is a new one; the keyboard goes on from there
    if (pressed) (this.sides.querySelector(`[data-key="${pressed}"]`) ?? this.form.querySelector("button")).focus();
  }

  side(name, title, state) {
    const code = made("details", {}, made("summary", { textContent: "Code" }), made("pre", { textContent: this.design.code[name], tabIndex: 0 }));
    return made("section", { className: "tp-side" }, made("h3", { textContent: title }), problemsOf(state.problems),
      ...(state.repair ? [made("p", { className: "tp-repair", textContent: state.repair })] : []),
      ...(state.process ? [this.process(name, state.process)] : []),
      ...(state.answer ? [answerOf(state.answer)] : []),
      ...state.stored.map((table) => storedIn(table, [])), code);
  }

  process(side, process) {
    const steps = process.events.map((event) => stepOf(event.text, event.outcome));
    if (process.pending) {
      const decide = (text, decision) => {
        const pressed = button(text, () => this.show("decide", side, decision), { className: `tp-${decision}` });
        pressed.dataset.key = `${side}-${decision}`;
        return pressed;
      };
      const buttons = [decide("Send", "send"), decide("Kill the process", "kill"), decide("Lose the response", "lose"), decide("Send all", "finish")];
      steps.push(made("li", { className: "tp-pending" }, made("code", { textContent: process.pending }), made("div", { className: "tp-row" }, ...buttons)));
    }
    const ending = process.result ?? ENDINGS[process.state];
    return made("div", { className: `tp-process tp-${process.state}` }, made("code", { textContent: process.title }),
      made("ol", {}, ...steps), ...(ending ? [made("p", { textContent: ending })] : []));
  }

  async explore() {
    this.race.lastChild.remove();
    for (const [side, title] of Object.entries(SIDES)) {
      const line = made("p", {}, made("strong", { textContent: `${title}: ` }), "exploring…"), steps = made("div", {});
      this.race.append(line, steps);
      const { text, isConsistent, steps: count } = await this.ask("explore", side);
      line.lastChild.replaceWith(made("span", { className: isConsistent ? "tp-good" : "tp-error", textContent: text }));
      if (count) {
        if (isConsistent) steps.before(made("p", { textContent: "The same order, with tablepatterns:" }));
        await this.step(steps, side, 0, count);
      }
    }
  }

  async step(holder, side, number, count) {
    const focused = holder.contains(document.activeElement) && document.activeElement.textContent;
    const state = await this.ask("race_step", side, number);
    const back = button("Back", () => this.step(holder, side, number - 1, count), { disabled: number === 0 });
    const next = button("Next request", () => this.step(holder, side, number + 1, count), { disabled: number === count });
    const events = state.events.map((each) => stepOf(`${each.who}: ${each.text}`, each.outcome));
    const waiting = Object.entries(state.waiting).map(([who, what]) =>
      made("li", { className: who === state.next ? "tp-pending" : "" }, `${who} `, made("code", { textContent: ENDINGS[what] ?? what })));
    holder.replaceChildren(
      made("p", { className: "tp-row" }, back, next, made("span", { textContent: `${number} of ${count} requests` })),
      made("div", { className: "tp-sides" },
        made("section", {}, made("strong", { textContent: "Sent" }), made("ol", {}, ...events), made("strong", { textContent: "Next request of each" }), made("ul", {}, ...waiting)),
        made("section", {}, problemsOf(state.problems), ...(state.repair ? [made("p", { className: "tp-repair", textContent: state.repair })] : []),
          ...state.stored.map((table) => storedIn(table, [])))));
    if (focused) [back, next].find((each) => each.textContent === focused && !each.disabled)?.focus();
  }
}

// 404 and 412 are answers that the caller expects
const stepOf = (text, outcome) => made("li", { className: /^(2|404|412)/.test(outcome) ? "" : "tp-lost" },
  made("code", { textContent: text }), ` ${outcome}`);

const problemsOf = (problems) => problems.length
  ? made("ul", { className: "tp-problems" }, ...problems.map((text) => made("li", { className: "tp-error", textContent: text })))
  : made("p", { className: "tp-problems tp-good", textContent: "Consistent" });

const answerOf = (answer) => made("p", { className: "tp-answer" }, made("code", { textContent: answer.call }), " → ",
  made("code", { textContent: answer.text }), ` (${answer.cost})`);

export function open(place, calls = []) {
  const playground = new Playground(place);
  place.playground = playground;
  return playground.start(calls);
}
