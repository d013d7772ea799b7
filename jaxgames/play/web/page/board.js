// The board: the picture that the server draws, and on it a button for every cell. The server says which moves there
// are and where they begin and end; no rule of a game is in this file.

import { Drag } from "./drag.js";
import { isConsidered } from "./game.js";
import { markOf, trailOf } from "./marks.js";
import { middle, pieceAt, raise, shift, slide } from "./pieces.js";

const FINGER = 24; // pixels around a tap in which the nearest useful cell is meant
const MOUSE = 1.5; // radii of a cell around its middle in which a click is meant for it

const node = (id) => document.getElementById(id);

export class Board {
  // `play(move)` plays a legal move; `tell(text)` shows a message.
  constructor(play, tell) {
    this.play = play;
    this.tell = tell;
    this.buttons = new Map();
    this.view = null;
    this.selected = null;
    this.current = null; // the cell that the Tab key reaches
    this.wantedX = 0; // where the arrow keys up and down lead
    this.hint = null;
    this.mistake = null;
    this.enabled = false;
    this.picture = node("picture");
    this.drag = new Drag(this, node("cells"));
    node("cells").addEventListener("click", (event) => this.clicked(event));
    node("cells").addEventListener("keydown", (event) => this.keyed(event));
    node("cells").addEventListener("focusin", (event) => this.reached(event.target.dataset.name));
  }

  // -- showing -------------------------------------------------------------------------------------------------------

  // Shows a view. `enabled` is whether a person at this page may move.
  show(view, enabled) {
    const before = this.view;
    const sameBoard = before !== null && before.game === view.game && before.bottom === view.bottom;
    const moved = !sameBoard || before.id !== view.id || before.ply !== view.ply || before.position !== view.position;
    const shown = this.moved; // by the person, before the server has replied
    this.view = view;
    this.enabled = enabled;
    this.moved = null;
    if (!sameBoard || before.svg !== view.svg || before.text !== view.text || shown) this.drawPicture(view);
    if (!sameBoard) this.makeButtons();
    if (moved || !enabled) {
      this.selected = null;
      this.closeChoices();
    }
    this.pickOnlySource();
    this.draw();
    if (sameBoard && before.id === view.id && view.ply === before.ply + 1 && !shown) this.slideLast();
  }

  // Shows that the person at this page plays a move: the piece is at its target at once, and nothing else can be played
  // until the next view.
  showMove(move) {
    this.enabled = false;
    this.moved = move;
    this.selected = null;
    const [source, target] = [this.buttons.get(move.source), this.buttons.get(move.target)];
    if (source !== undefined && target !== undefined) {
      const [from, to] = [middle(source), middle(target)];
      pieceAt(this.picture, to, source.clientWidth / 2)?.setAttribute("visibility", "hidden");
      const piece = pieceAt(this.picture, from, source.clientWidth / 2);
      if (piece !== null) {
        raise(piece);
        shift(piece, to.x - from.x, to.y - from.y);
      }
    }
    this.draw();
  }

  showHint(hint) {
    this.hint = hint;
    this.draw();
  }

  // Marks a mistake of the review while its position is shown: {id, ply, texts}, or null for none.
  showMistake(mistake) {
    this.mistake = mistake;
    this.draw();
  }

  // Draws the best move of a hint; of a mistake, the move that was played and the one that was better.
  drawMarks() {
    for (const mark of node("trails").querySelectorAll(".mark")) mark.remove();
    const { legal, cells, id, ply } = this.view;
    const draw = (move, kind) => move !== undefined && node("trails").append(...markOf(move, kind, cells));
    if (this.mistake?.id === id && this.mistake.ply === ply) {
      const [played, better] = this.mistake.texts.map((text) => legal.find((move) => move.text === text));
      draw(played, "mistake");
      draw(better, "best");
    } else {
      draw(this.hinted(), "best");
    }
  }

  // Returns the move of the hint; undefined without one.
  hinted() {
    return this.enabled ? this.view.legal.find((move) => move.action === this.hint?.moves[0].action) : undefined;
  }

  // Lets the piece of the last ply slide from its source to its target.
  slideLast() {
    const [source, target] = [this.view.last?.source, this.view.last?.target].map((name) => this.buttons.get(name));
    if (source === undefined || target === undefined) return;
    slide(this.picture, middle(source), middle(target), target.clientWidth / 2);
  }

  // Draws the board; a game without pictures has a text, and no cells.
  drawPicture({ svg, text, trails, seats }) {
    node("cells").hidden = svg === null;
    node("trails").replaceChildren();
    this.picture.setAttribute("aria-hidden", String(svg !== null)); // the cells are read out in its place
    if (svg === null) {
      const lines = document.createElement("pre");
      lines.textContent = text;
      this.picture.replaceChildren(lines);
      return;
    }
    const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    for (const name of ["width", "height", "role", "aria-label"]) picture.removeAttribute(name);
    const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
    this.size = { width, height };
    node("board").style.setProperty("--tall", height / width);
    this.picture.replaceChildren(document.importNode(picture, true));
    node("trails").setAttribute("viewBox", `0 0 ${width} ${height}`);
    for (const trail of trails) node("trails").append(...trailOf(trail, seats[trail.seat].colour));
  }

  makeButtons() {
    this.buttons.clear();
    for (const cell of this.view.cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "cell";
      button.dataset.name = cell.name;
      button.tabIndex = -1;
      button.style.left = `${(100 * cell.x) / this.size.width}%`;
      button.style.top = `${(100 * cell.y) / this.size.height}%`;
      button.style.width = `${(200 * cell.radius) / this.size.width}%`;
      this.buttons.set(cell.name, button);
    }
    this.rows = inRows(this.view.cells);
    this.current = this.rows.at(-1)?.[0].name ?? null;
    this.wantedX = this.rows.at(-1)?.[0].x ?? 0;
    node("cells").replaceChildren(...this.buttons.values());
  }

  // Updates the buttons: which cells can be chosen, and how they are read out.
  draw() {
    const moves = this.moves();
    const sources = this.sources();
    const targets = this.targets();
    const forced = moves.length > 0 && moves.every((move) => move.kind === "capture");
    const hinted = this.hinted();
    this.drawMarks();
    for (const cell of this.view.cells) {
      const button = this.buttons.get(cell.name);
      const isTarget = targets.has(cell.name);
      const isEdge = isTarget && this.selected === null;
      const states = {
        source: sources.has(cell.name),
        selected: cell.name === this.selected,
        target: isTarget && !isEdge,
        edge: isEdge,
        forced: forced && sources.has(cell.name),
        played: cell.name === this.moved?.target && this.moved.source === null,
      };
      const isHint = hinted !== undefined && [hinted.source, hinted.target].includes(cell.name);
      button.tabIndex = cell.name === this.current ? 0 : -1;
      const shown = JSON.stringify([cell.label, states, isHint]);
      if (button.dataset.shown === shown) continue;
      button.dataset.shown = shown;
      for (const [name, on] of Object.entries(states)) button.classList.toggle(name, on);
      button.setAttribute("aria-label", label(cell, states, isHint));
      if (states.source) button.setAttribute("aria-pressed", String(states.selected));
      else button.removeAttribute("aria-pressed");
    }
  }

  // -- choosing ------------------------------------------------------------------------------------------------------

  moves() {
    return this.enabled ? this.view.legal.filter((move) => move.target !== null) : [];
  }

  sources() {
    return new Set(this.moves().map((move) => move.source).filter((source) => source !== null));
  }

  // Returns the targets of the selected piece, or all edges that can be drawn.
  targets() {
    return new Set(this.moves().filter((move) => move.source === this.selected).map((move) => move.target));
  }

  select(name) {
    this.selected = name;
    this.closeChoices();
    this.draw();
  }

  // Picks the piece in the middle of a chain, or the only one that can move.
  pickOnlySource() {
    const sources = this.sources();
    if (sources.size === 1) this.selected = [...sources][0];
  }

  // Chooses a cell: a piece to move, a target of the selected piece, or an edge.
  choose(name) {
    if (this.moved !== null) return; // the server has not replied yet
    if (!this.enabled) {
      this.tell(this.view.over ? "The game is over." : isConsidered(this.view) ? "Wait for the answer to your offer." : "It is not your turn.");
      return;
    }
    const moves = this.moves().filter((move) => move.source === this.selected && move.target === name);
    if (moves.length === 1) {
      this.play(moves[0]);
    } else if (moves.length > 1) {
      this.openChoices(moves);
    } else if (name === this.selected) {
      this.select(null);
    } else if (this.sources().has(name)) {
      this.select(name);
      this.tell("Now choose where it goes.");
    } else {
      this.tell(this.reason(name));
      this.selected = null;
      this.pickOnlySource();
      this.select(this.selected);
    }
  }

  // Returns why a cell cannot be chosen, for people.
  reason(name) {
    const { owner } = this.view.cells.find((cell) => cell.name === name);
    const { seats, mover } = this.view;
    if (this.sources().size === 0) return "This line is drawn already.";
    if (owner !== null && owner !== mover) return `That piece is ${seats[owner].name}'s. You play ${seats[mover].name}.`;
    if (owner !== null) return this.moves().every((move) => move.kind === "capture") ? "You must capture: take a piece with a dashed ring." : "This piece cannot move now.";
    return this.selected === null ? "There is no piece. Pick one with a ring." : "Your piece cannot go there.";
  }

  openChoices(moves) {
    const buttons = moves.map((move) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = move.kind;
      button.setAttribute("aria-label", move.label);
      button.addEventListener("click", () => {
        this.closeChoices();
        this.play(move);
      });
      return button;
    });
    node("choices").replaceChildren(...buttons);
    node("choices").hidden = false;
    node("choices").onkeydown = (event) => {
      if (event.key === "Escape") this.closeChoices();
    };
    buttons[0].focus();
  }

  closeChoices() {
    if (node("choices").hidden) return;
    const focused = node("choices").contains(document.activeElement);
    node("choices").hidden = true;
    node("choices").replaceChildren();
    if (focused) this.focus();
  }

  focus() {
    this.buttons.get(this.current)?.focus({ preventScroll: true });
  }

  // -- mouse, finger and keys ----------------------------------------------------------------------------------------

  clicked(event) {
    const fromKeyboard = event.detail === 0;
    if (this.drag.ended && !fromKeyboard) return;
    const name = fromKeyboard ? event.target.dataset.name : this.nearest(event);
    if (name === undefined) return;
    this.buttons.get(name).focus({ preventScroll: true });
    this.wantedX = this.view.cells.find((cell) => cell.name === name).x;
    this.choose(name);
  }

  // Returns the cell that a click or a tap means. A tap means the nearest cell that makes a move, if one is near.
  nearest(event) {
    const frame = node("cells").getBoundingClientRect();
    const scale = frame.width / this.size.width;
    const x = (event.clientX - frame.left) / scale;
    const y = (event.clientY - frame.top) / scale;
    const nearestOf = (cells, reach) => {
      let best;
      let least = Infinity;
      for (const cell of cells) {
        const distance = Math.hypot(cell.x - x, cell.y - y);
        if (distance < least && distance <= reach(cell)) [best, least] = [cell.name, distance];
      }
      return best;
    };
    if (event.pointerType === "touch" || event.pointerType === "pen") {
      const useful = new Set([...this.targets(), ...this.sources()]);
      const snapped = nearestOf(this.view.cells.filter((cell) => useful.has(cell.name)), (cell) => Math.max(cell.radius, FINGER / scale));
      if (snapped !== undefined) return snapped;
    }
    return nearestOf(this.view.cells, (cell) => MOUSE * cell.radius);
  }

  reached(name) {
    if (name === undefined || name === this.current) return;
    this.buttons.get(this.current).tabIndex = -1;
    this.buttons.get(name).tabIndex = 0;
    this.current = name;
  }

  keyed(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      if (this.selected !== null && this.sources().size > 1) this.select(null);
      return;
    }
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const row = this.rows.findIndex((cells) => cells.some((cell) => cell.name === this.current));
    const column = this.rows[row].findIndex((cell) => cell.name === this.current);
    if (step[0] !== 0) {
      const cell = this.rows[row][column + step[0]];
      if (cell === undefined) return;
      this.wantedX = cell.x;
      this.buttons.get(cell.name).focus();
      return;
    }
    const cells = this.rows[row + step[1]];
    if (cells === undefined) return;
    const away = (cell) => Math.abs(cell.x - this.wantedX);
    this.buttons.get(cells.reduce((best, cell) => (away(cell) < away(best) ? cell : best)).name).focus();
  }
}

// Returns the cells in rows from the top, each from left to right.
function inRows(cells) {
  const rows = [];
  for (const cell of [...cells].sort((a, b) => a.y - b.y || a.x - b.x)) {
    const row = rows.at(-1);
    if (row !== undefined && cell.y - row[0].y < cell.radius / 2) row.push(cell);
    else rows.push([cell]);
  }
  for (const row of rows) row.sort((a, b) => a.x - b.x);
  return rows;
}

function label(cell, states, isHint) {
  const parts = [cell.label];
  if (states.selected) parts.push("picked");
  else if (states.forced) parts.push("must capture");
  else if (states.source) parts.push("can move");
  if (states.target) parts.push("target");
  if (isHint) parts.push("hint");
  return parts.join(", ");
}
