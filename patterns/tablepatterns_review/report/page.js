"use strict";
(() => {
  const all = (within, selector) => [...within.querySelectorAll(selector)];
  document.documentElement.classList.add("scripted");

  const design = document.getElementById("design");
  if (design) {
    const rows = new Map(all(design, "tr[data-row]").map((row) => [row.dataset.row, row]));
    const panels = all(design, ".call");
    const steps = all(design, ".steps button");
    const status = design.querySelector(".status");
    const numbers = (source, mark) => (source?.dataset[mark] ?? "").split(" ").filter(Boolean);

    // Marks the rows of an access pattern or of one of its requests; of nothing, shows all rows that are stored
    const mark = (source) => {
      const marks = new Map();
      for (const word of ["read", "returned", "written"]) {
        for (const number of numbers(source, word)) marks.set(number, [...(marks.get(number) ?? []), word]);
      }
      for (const [number, row] of rows) {
        const words = marks.get(number) ?? [];
        row.className = `row ${row.className.split(" ")[1]} ${words.join(" ")}`;
        row.hidden = row.dataset.stored === "no" && words.length === 0;
        row.querySelector(".mark").textContent = words.join(", ");
      }
      for (const band of all(design, ".stored tbody")) band.hidden = all(band, ".row").every((row) => row.hidden);
      return marks;
    };
    const choose = (chosen) => {
      const panel = panels.find((each) => each.dataset.call === chosen);
      for (const each of panels) each.hidden = each !== panel;
      for (const each of steps) each.setAttribute("aria-pressed", "false");
      const marks = mark(panel);
      for (const table of all(design, ".tables > details")) {
        table.open = !panel || all(table, ".row").some((row) => marks.has(row.dataset.row));
      }
      status.textContent = panel
        ? "In the sample: " + ["read", "returned", "written"].map((word) => `${numbers(panel, word).length} ${word}`).join(", ")
          + `. At the declared size: ${panel.dataset.declared}.`
        : "";
    };
    // A link may lead to a finding that is folded
    const linked = () => {
      const target = location.hash && document.getElementById(location.hash.slice(1));
      for (let folded = target; folded; folded = folded.parentElement?.closest("details")) {
        if (folded.tagName === "DETAILS") folded.open = true;
      }
      const found = /^#call-(\d+)$/.exec(location.hash);
      const radio = found && document.getElementById(`choose-${found[1]}`);
      if (radio) {
        radio.checked = true;
        choose(found[1]);
      }
    };
    for (const radio of all(design, "input[name=call]")) {
      radio.addEventListener("change", () => {
        choose(radio.value);
        // Kept when the page is loaded again
        history.replaceState(null, "", radio.value === "all" ? "#design" : `#call-${radio.value}`);
      });
    }
    for (const step of steps) {
      step.addEventListener("click", () => {
        const pressed = step.getAttribute("aria-pressed") !== "true";
        for (const each of steps) each.setAttribute("aria-pressed", String(pressed && each === step));
        mark(pressed ? step : step.closest(".call"));
      });
    }
    window.addEventListener("hashchange", linked);
    choose(design.querySelector("input[name=call]:checked").value);
    linked();
  }
})();
