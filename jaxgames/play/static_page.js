"use strict";
// Shows one position of a game at a time: by slider, buttons, moves and keys. The page has the parts of all positions.
const parts = [...document.querySelectorAll("[data-at]")].map((part) => [part, spansOf(part.dataset.at)]);
const moves = [...document.querySelectorAll("li button")];
const list = document.querySelector("ol");
const slider = document.querySelector("input");
const words = document.getElementById("words");
const wordsAt = words.dataset.words.split("\n");
const autoplay = document.getElementById("autoplay");
const MILLISECONDS = 800;
const LAST = moves.length;
let timer = 0;

// Returns the pairs of the first and the last position of each span in a text such as "0-4 9".
function spansOf(text) {
  return text.split(" ").map((span) => span.split("-").map(Number));
}

function show(ply) {
  const shown = Math.min(Math.max(ply, 0), LAST);
  slider.value = String(shown);
  for (const [part, spans] of parts) {
    part.classList.toggle("shown", spans.some(([first, last = first]) => first <= shown && shown <= last));
  }
  moves.forEach((move, index) => (index + 1 === shown ? move.setAttribute("aria-current", "step") : move.removeAttribute("aria-current")));
  list.scrollTop = shown > 0 ? moves[shown - 1].offsetTop - list.clientHeight / 2 : 0;
  const move = shown > 0 ? `${moves[shown - 1].textContent}: ` : "";
  words.textContent = move + wordsAt[shown];
  if (shown === LAST) stop();
}

function stop() {
  clearInterval(timer);
  timer = 0;
  autoplay.setAttribute("aria-pressed", "false");
}

function start() {
  if (Number(slider.value) === LAST) show(0);
  autoplay.setAttribute("aria-pressed", "true");
  timer = setInterval(() => show(Number(slider.value) + 1), MILLISECONDS);
}

const STEPS = {
  first: () => show(0),
  back: () => show(Number(slider.value) - 1),
  forward: () => show(Number(slider.value) + 1),
  last: () => show(LAST),
  autoplay: () => (timer ? stop() : start()),
};
const KEYS = { Home: "first", ArrowLeft: "back", ArrowRight: "forward", End: "last", " ": "autoplay" };

for (const [id, step] of Object.entries(STEPS)) document.getElementById(id).addEventListener("click", step);
slider.addEventListener("input", () => show(Number(slider.value)));
moves.forEach((move, index) => move.addEventListener("click", () => show(index + 1)));
document.addEventListener("keydown", (event) => {
  const own = event.key === " " ? event.target.closest("button") : event.target === slider;
  if (own || !(event.key in KEYS) || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  STEPS[KEYS[event.key]]();
});
show(Number(slider.value));
