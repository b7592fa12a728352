// A page's program, run in the reader's browser. Until a button is clicked, no other file of this folder is loaded.
for (const place of document.querySelectorAll("tp-run")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tp-open";
  button.textContent = "Run this program in your browser";
  const note = document.createElement("span");
  note.className = "tp-note";
  note.textContent = `Loads Python, ${place.dataset.size} MB, once. Nothing you type leaves this page.`;
  button.onclick = async () => {
    button.disabled = true;
    try {
      const { open } = await import("./panel.js");
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
