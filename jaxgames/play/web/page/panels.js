// The buttons and panels around the board: the players, the controls and the moves that were played.

import { peopleOf, personMoves, resigningSeat, turnAt } from "./game.js";

const node = (id) => document.getElementById(id);

// Returns an element with a class and text.
export function made(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

// Returns a dot in the colour of a seat.
export function chip(colour) {
  const dot = made("span", "chip");
  dot.setAttribute("aria-hidden", "true");
  dot.style.background = colour;
  return dot;
}

// Returns a field for the text of an agent, in a label.
export function agentField(words, value, list) {
  const label = made("label", "", `${words} `);
  const field = document.createElement("input");
  Object.assign(field, { value, maxLength: 300, spellcheck: false, autocomplete: "off" });
  field.setAttribute("list", list);
  label.append(field);
  return label;
}

// Fills the list of a text field's suggestions.
export function suggest(list, texts) {
  list.replaceChildren(...texts.map((text) => Object.assign(document.createElement("option"), { value: text })));
}

// Returns the choices of a player: people and the levels of the game. `levels` is a list of {agent, words}.
export const playerOptions = (levels, person) => [new Option(person, "human"), ...levels.map(({ agent, words }) => new Option(words, agent))];

// -- players ---------------------------------------------------------------------------------------------------------

// Shows who plays each seat; `change(seats)` is called when a person chooses another player.
export function showPlayers(view, levels, change) {
  const list = node("players");
  const shown = JSON.stringify([view.game, view.seats, levels]);
  if (list.dataset.shown !== shown && !list.contains(document.activeElement)) {
    list.dataset.shown = shown;
    list.replaceChildren(...view.seats.map((_, index) => playerRow(view, index, levels, change)));
  }
  [...list.children].forEach((row, index) => row.classList.toggle("mover", index === view.mover && !view.over));
  const fields = [...node("agent-fields").querySelectorAll("input")];
  const named = JSON.stringify(view.seats.map(({ name }) => name));
  if (node("agent-fields").dataset.named === named) {
    fields.forEach((field, index) => {
      if (document.activeElement !== field) field.value = view.seats[index].player;
    });
    return;
  }
  node("agent-fields").dataset.named = named;
  const labels = view.seats.map((seat) => agentField(seat.name, seat.player, "agents"));
  node("agent-fields").replaceChildren(...labels);
  for (const field of node("agent-fields").querySelectorAll("input")) {
    field.addEventListener("change", () => change([...node("agent-fields").querySelectorAll("input")].map((input) => input.value.trim())));
  }
}

function playerRow(view, index, levels, change) {
  const seat = view.seats[index];
  const row = made("li");
  const select = document.createElement("select");
  select.setAttribute("aria-label", `Player of ${seat.name}`);
  const people = peopleOf(view);
  select.append(...playerOptions(levels, people.length === 1 && people[0] === index ? "You" : "Person"));
  if (![...select.options].some((option) => option.value === seat.player)) select.append(new Option(seat.words, seat.player));
  select.value = seat.player;
  select.addEventListener("change", () => {
    const seats = view.seats.map(({ player }) => player);
    seats[index] = select.value;
    select.blur();
    change(seats);
  });
  row.append(chip(seat.colour), made("span", "seat", seat.name), select, made("span", "score", seat.score));
  return row;
}

// -- controls --------------------------------------------------------------------------------------------------------

// Shows the moves that have no target as buttons: the end of a turn or, in a game without pictures, all moves.
// `play(move)` plays one of them.
export function showExtra(view, play) {
  const moves = personMoves(view) ? view.legal.filter((move) => move.target === null) : [];
  const buttons = moves.map((move) => {
    const button = made("button", "strong", view.svg === null ? move.text : move.kind[0].toUpperCase() + move.kind.slice(1));
    button.type = "button";
    if (view.svg !== null) {
      button.title = `${move.label} (E)`;
      button.setAttribute("aria-keyshortcuts", "E");
    }
    button.addEventListener("click", () => play(move));
    return button;
  });
  node("extra").replaceChildren(...buttons);
}

// Shows which buttons can be pressed. `sliding` is whether the slider is ahead of the view, and stays where it is.
export function showControls(view, sliding) {
  const people = peopleOf(view);
  node("after").hidden = !view.ended;
  node("to-end").hidden = view.ply === view.plies;
  node("switch").hidden = people.length === 0 || people.length === view.seats.length;
  node("ask-review").hidden = people.length === 0 || view.svg === null;
  node("undo").disabled = !view.can_undo; // a resignation can be undone
  node("flip").hidden = !view.flips;
  node("resign").hidden = view.ended || resigningSeat(view) === null;
  node("draw").hidden = node("resign").hidden || !view.can_draw;
  node("draw").textContent = view.offers.length > 0 && people.length > 1 ? "Accept draw" : "Offer draw";
  node("draw").disabled = !personMoves(view);
  node("stop").hidden = view.thinking === null;
  node("go").hidden = !view.waits;
  node("hint").disabled = view.over;
  node("replay").hidden = view.plies === 0;
  node("no-moves").hidden = view.plies > 0;
  node("first").disabled = node("previous").disabled = view.ply === 0;
  node("next").disabled = node("last").disabled = view.ply === view.plies;
  node("autoplay").hidden = !(view.over || view.ply < view.plies);
  node("ply").max = view.plies;
  if (!sliding) node("ply").value = view.ply;
  node("ply").setAttribute("aria-valuetext", `${view.ply} of ${view.plies}`);
}

// -- moves -----------------------------------------------------------------------------------------------------------

// Shows the turns that were played; `jump(ply)` is called for the position after one of them.
export function showMoves(view, jump) {
  const list = node("moves");
  view.turns.forEach((turn, index) => {
    const item = list.children[index] ?? list.appendChild(turnItem());
    const { name, colour } = view.seats[turn.seat];
    const shown = JSON.stringify([turn, name, colour]);
    if (item.dataset.shown === shown) return;
    item.dataset.shown = shown;
    item.firstChild.style.background = colour;
    item.lastChild.textContent = turn.text;
    item.lastChild.setAttribute("aria-label", `${name} ${turn.text}`);
    item.lastChild.onclick = () => jump(turn.ply);
  });
  while (list.children.length > view.turns.length) list.lastChild.remove();
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const current = list.children[view.turns.indexOf(turnAt(view, view.ply))]?.lastChild ?? null;
  current?.setAttribute("aria-current", "step");
  list.scrollTop = current === null ? 0 : current.offsetTop - list.clientHeight / 2;
}

function turnItem() {
  const item = made("li");
  const button = made("button");
  button.type = "button";
  item.append(chip(""), button);
  return item;
}
