// What runs in the reader's browser. Until a button is clicked, no other file of this folder is loaded.
const KINDS = {
  run: ["panel.js", "Run this program in your browser"],
  play: ["playground.js", "Start the playground"],
  explain: ["check.js", "Explain a filter in your browser"],
  review: ["check.js", "Review a design in your browser"],
};

for (const place of document.querySelectorAll("tp-run, tp-play, tp-check")) {
  const [module, label] = KINDS[place.dataset.kind];
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tp-open";
  button.textContent = label;
  const note = document.createElement("span");
  note.className = "tp-note";
  note.textContent = `Loads Python, ${place.dataset.size} MB, once. Nothing you type leaves this page.`;
  button.onclick = async () => {
    button.disabled = true;
    try {
      const { open } = await import(`./${module}`);
      open(place);
    } catch (error) {
      button.disabled = false;
      const hint = location.protocol === "file:" ? "Open this page from a web server, for example with make docs-serve." : error;
      note.textContent = `It could not be loaded. ${hint}`;
    }
  };
  place.append(button, note);
  place.hidden = false;
}
if (document.querySelector("tp-story")) import("./story.js");
