"use strict";
// Shows one slide of a game at a time: by slider, buttons, moves and keys. All slides are in the page.
const slides = [...document.querySelectorAll(".slide")];
const moves = [...document.querySelectorAll("li button")];
const list = document.querySelector("ol");
const slider = document.querySelector("input");
const words = document.getElementById("words");
const autoplay = document.getElementById("autoplay");
const MILLISECONDS = 800;
let timer = 0;

function show(ply) {
  const shown = Math.min(Math.max(ply, 0), slides.length - 1);
  slider.value = String(shown);
  slides.forEach((slide, index) => slide.classList.toggle("shown", index === shown));
  moves.forEach((move, index) => (index + 1 === shown ? move.setAttribute("aria-current", "step") : move.removeAttribute("aria-current")));
  list.scrollTop = shown > 0 ? moves[shown - 1].offsetTop - list.clientHeight / 2 : 0;
  const move = shown > 0 ? `${moves[shown - 1].textContent}: ` : "";
  words.textContent = move + words.dataset.words.split("\n")[shown];
  if (shown === slides.length - 1) stop();
}

function stop() {
  clearInterval(timer);
  timer = 0;
  autoplay.setAttribute("aria-pressed", "false");
}

function start() {
  if (Number(slider.value) === slides.length - 1) show(0);
  autoplay.setAttribute("aria-pressed", "true");
  timer = setInterval(() => show(Number(slider.value) + 1), MILLISECONDS);
}

const STEPS = {
  first: () => show(0),
  back: () => show(Number(slider.value) - 1),
  forward: () => show(Number(slider.value) + 1),
  last: () => show(slides.length - 1),
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
