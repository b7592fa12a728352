// Plays the stories of the front page. Their frames are in the page: this script shows one at a time.
const PAUSE = 3200;
const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;

class Story {
  constructor(place) {
    this.place = place;
    this.frames = [...place.querySelectorAll(".tp-frame")];
    this.buttons = [...place.querySelectorAll("button[data-act]")];
    const bar = place.querySelector(".tp-buttons");
    place.prepend(bar);
    bar.hidden = false;
    for (const button of this.buttons) button.onclick = () => this.press(button);
    const edit = place.querySelector(".tp-edit");
    if (edit) edit.onclick = () => this.edit();
    for (const frame of this.frames) frame.setAttribute("aria-live", "polite");
  }

  get shown() {
    return this.frames.findIndex((frame) => !frame.hidden);
  }

  show(number) {
    this.frames.forEach((frame, index) => { frame.hidden = index !== number; });
  }

  // A story of one act goes on by one frame for each click; a longer one plays the act of the button
  async press(button) {
    if (this.buttons.length === 1) {
      this.show(this.started ? (this.shown + 1) % this.frames.length : 0);
      this.started = true;
      return;
    }
    const playing = this.frames.filter((frame) => frame.dataset.act === button.dataset.act);
    this.buttons.forEach((other) => { other.disabled = true; });
    for (const frame of playing) {
      this.show(this.frames.indexOf(frame));
      if (frame !== playing.at(-1) && !isCalm) await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
    }
    this.buttons.forEach((other) => { other.disabled = false; });
    const next = this.buttons[(this.buttons.indexOf(button) + 1) % this.buttons.length];
    next.focus({ preventScroll: true });
  }

  // Opens the playground in the state of the frame that is shown
  async edit() {
    const playground = document.querySelector("tp-play");
    playground.scrollIntoView({ behavior: isCalm ? "auto" : "smooth" });
    const { open } = await import("./playground.js");
    await open(playground, JSON.parse(this.frames[this.shown].dataset.calls));
  }
}

for (const place of document.querySelectorAll("tp-story")) place.story = new Story(place);
