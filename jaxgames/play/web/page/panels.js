// The buttons and panels around the board: the seats, the moves that were played, and what an agent thinks.

import { percent } from "./board.js";
import { personMoves, resigningSeat } from "./game.js";

const node = (id) => document.getElementById(id);

// Returns an element with a class and text.
export function made(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}

// Fills the list of a text field's suggestions.
export function suggest(list, texts) {
  list.replaceChildren(
    ...texts.map((text) => {
      const option = document.createElement("option");
      option.value = text;
      return option;
    }),
  );
}

// -- seats -----------------------------------------------------------------------------------------------------------

// Shows who plays each seat; `change(seats)` is called when a person enters another player.
export function showSeats(view, change) {
  const list = node("seats");
  if (list.dataset.game !== view.game) {
    list.dataset.game = view.game;
    list.replaceChildren(...view.seats.map((seat, index) => seatItem(seat, index, change)));
  }
  view.seats.forEach((seat, index) => {
    const item = list.children[index];
    const field = item.querySelector("input");
    if (document.activeElement !== field) field.value = seat.player;
    item.querySelector(".chip").style.background = seat.colour;
    item.classList.toggle("mover", index === view.mover && !view.over);
    item.querySelector(".turn").textContent = index === view.mover && !view.over ? "to move" : "";
  });
}

function seatItem(seat, index, change) {
  const item = made("li");
  const field = document.createElement("input");
  field.setAttribute("list", "agents");
  field.setAttribute("aria-label", `Player of ${seat.name}`);
  field.maxLength = 300;
  field.spellcheck = false;
  field.autocomplete = "off";
  field.addEventListener("change", () => {
    change([...node("seats").querySelectorAll("input")].map((input) => input.value.trim()));
  });
  const chip = made("span", "chip");
  chip.setAttribute("aria-hidden", "true");
  item.append(chip, made("span", "seat", seat.name), field, made("span", "turn"));
  item.dataset.seat = index;
  return item;
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
  node("undo").disabled = node("undo-turn").disabled = view.ply === 0 && !view.over; // a resignation can be undone
  node("first").disabled = node("previous").disabled = view.ply === 0;
  node("redo").disabled = node("next").disabled = node("last").disabled = view.ply === view.plies;
  node("autoplay").disabled = view.plies === 0;
  node("ply").max = view.plies;
  if (!sliding) node("ply").value = view.ply;
  node("ply").setAttribute("aria-valuetext", `${view.ply} of ${view.plies}`);
  node("stop").hidden = view.thinking === null;
  node("go").hidden = !view.waits;
  node("resign").disabled = resigningSeat(view) === null;
  node("hint").disabled = view.over;
}

// -- moves -----------------------------------------------------------------------------------------------------------

// Shows the moves that were played; `jump(ply)` is called for the position after one of them.
export function showMoves(view, jump) {
  const list = node("moves");
  view.moves.forEach((move, index) => {
    const item = list.children[index] ?? list.appendChild(moveItem(index, jump));
    if (item.firstChild.textContent !== move.text) item.firstChild.textContent = move.text;
    item.dataset.seat = `seat${move.seat}`;
    item.title = view.seats[move.seat].name;
  });
  while (list.children.length > view.moves.length) list.lastChild.remove();
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  const current = view.ply > 0 ? list.children[view.ply - 1].firstChild : null;
  current?.setAttribute("aria-current", "step");
  list.scrollTop = current === null ? 0 : current.offsetTop - list.clientHeight / 2;
}

function moveItem(index, jump) {
  const item = made("li");
  const button = made("button");
  button.type = "button";
  button.addEventListener("click", () => jump(index + 1));
  item.append(button);
  return item;
}

// -- hints -----------------------------------------------------------------------------------------------------------

// Shows what an agent thinks; null hides it.
export function showThoughts(hint, view) {
  node("thoughts").hidden = hint === null;
  if (hint === null) return;
  node("tops").replaceChildren(
    ...hint.moves.slice(0, 5).map((move) => {
      const row = made("tr");
      const meter = made("td", "bar");
      meter.append(made("span", "fill"), made("span", "number", `${percent(move.probability)} %`));
      meter.firstChild.style.width = `${100 * move.probability}%`;
      const head = made("th", "", move.text);
      head.scope = "row";
      row.append(head, meter);
      return row;
    }),
  );
  node("values").hidden = hint.values === null;
  node("values").replaceChildren(...(hint.values ?? []).map((value, index) => valueItem(value, view.seats[index], hint.range)));
}

// A bar from the middle: to the right for a positive value, to the left for a negative one.
function valueItem(value, seat, range) {
  const item = made("li");
  const bar = made("span", "value");
  const fill = made("span", "fill");
  const share = Math.max(-1, Math.min(1, value / range));
  fill.style.left = `${50 + Math.min(0, 50 * share)}%`;
  fill.style.width = `${Math.abs(50 * share)}%`;
  bar.append(fill);
  bar.setAttribute("aria-hidden", "true");
  item.append(made("span", "seat", seat.name), bar, made("span", "number", value.toFixed(2)));
  return item;
}
