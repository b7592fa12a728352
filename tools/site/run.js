// What runs in the reader's browser. Until a button is clicked, no other file of this folder is loaded, unless the
// link to the page holds a program or a design.
const KINDS = {
  run: ["panel.js", "Run this program in your browser", "program"],
  play: ["playground.js", "Start the playground", "playground"],
  explain: ["check.js", "Explain a filter in your browser"],
  review: ["check.js", "Review a design in your browser", "design"],
};
const places = [...document.querySelectorAll("tp-run, tp-play, tp-check")];

function prepare(place) {
  const [module, label] = KINDS[place.dataset.kind];
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tp-open";
  button.textContent = label;
  const note = document.createElement("span");
  note.className = "tp-note";
  note.textContent = `Loads Python, ${place.dataset.size} MB, once. Nothing you type leaves this page.`;
  place.start = async (...more) => {
    button.disabled = true;
    try {
      const { open } = await import(`./${module}`);
      await open(place, ...more);
    } catch (error) {
      button.disabled = false;
      const hint = location.protocol === "file:" ? "Open this page from a web server, for example with make docs-serve." : error;
      note.textContent = `It could not be loaded. ${hint}`;
    }
  };
  button.onclick = () => place.start();
  place.append(button, note);
  place.hidden = false;
}

// With the keyboard, the buttons would come after the menu
function addSkipLink(place) {
  const link = document.createElement("a");
  link.className = "skip-to-content muted-link";
  link.href = "#";
  link.textContent = place.dataset.kind === "play" ? "Skip to the playground" : "Skip to what runs here";
  link.onclick = (event) => {
    event.preventDefault();
    place.scrollIntoView();
    place.querySelector("button, input, .cm-content")?.focus();
  };
  const first = document.querySelector("body > .skip-to-content");
  if (first) first.after(link);
  else document.body.prepend(link);
}

// Shows what the link holds; it runs when the reader says so
async function showLinked() {
  const { linked } = await import("./link.js");
  try {
    const found = await linked();
    const place = found && places.find((each) => KINDS[each.dataset.kind][2] === found.kind);
    if (!place) return;
    place.scrollIntoView();
    if (found.kind === "playground") {
      place.querySelector(".tp-note").textContent = "The link holds steps. They run when you start.";
      const calls = JSON.parse(found.text);
      place.querySelector("button").onclick = () => place.start(calls);
    } else await place.start(found.text);
  } catch {
    places[0].querySelector(".tp-note").textContent = "The link is damaged, or its text is too long.";
  }
}

places.forEach(prepare);
if (places.length) addSkipLink(places[0]);
if (places.length && /^#(program|design|playground)=/.test(location.hash)) showLinked();
if (document.querySelector("tp-story")) import("./story.js");
