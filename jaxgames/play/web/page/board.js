// The board: the picture that the server draws, and on it a button for every cell. The server says which moves there
// are and where they begin and end; no rule of a game is in this file.

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
    this.enabled = false;
    node("cells").addEventListener("click", (event) => this.clicked(event));
    node("cells").addEventListener("keydown", (event) => this.keyed(event));
    node("cells").addEventListener("focusin", (event) => this.reached(event.target.dataset.name));
  }

  // -- showing -------------------------------------------------------------------------------------------------------

  // Shows a view. `enabled` is whether a person at this page may move.
  show(view, enabled) {
    const before = this.view;
    const sameBoard = before !== null && before.game === view.game;
    const moved = !sameBoard || before.id !== view.id || before.ply !== view.ply || before.position !== view.position;
    this.view = view;
    this.enabled = enabled;
    if (!sameBoard || before.svg !== view.svg || before.text !== view.text) this.drawPicture(view);
    if (!sameBoard) this.makeButtons();
    if (moved || !enabled) {
      this.selected = null;
      this.closeChoices();
    }
    const sources = this.sources();
    if (sources.size === 1) this.selected = [...sources][0]; // in the middle of a chain, or the only piece that can move
    this.draw();
  }

  showHint(hint) {
    this.hint = hint;
    this.draw();
  }

  // Draws the board; a game without pictures has a text, and no cells.
  drawPicture({ svg, text }) {
    node("cells").hidden = svg === null;
    node("picture").setAttribute("aria-hidden", String(svg !== null)); // the cells are read out in its place
    if (svg === null) {
      const lines = document.createElement("pre");
      lines.textContent = text;
      node("picture").replaceChildren(lines);
      return;
    }
    const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    picture.removeAttribute("width");
    picture.removeAttribute("height");
    picture.removeAttribute("role");
    picture.removeAttribute("aria-label");
    const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
    this.size = { width, height };
    node("picture").replaceChildren(document.importNode(picture, true));
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
      const number = document.createElement("span");
      number.setAttribute("aria-hidden", "true");
      button.append(number);
      this.buttons.set(cell.name, button);
    }
    this.rows = inRows(this.view.cells);
    this.current = this.view.cells[0]?.name ?? null;
    this.wantedX = this.view.cells[0]?.x ?? 0;
    node("cells").replaceChildren(...this.buttons.values());
  }

  // Updates the buttons: which cells can be chosen, what a hint says of them, and how they are read out.
  draw() {
    const moves = this.moves();
    const sources = this.sources();
    const targets = new Set(moves.filter((move) => move.source === this.selected).map((move) => move.target));
    const forced = moves.length > 0 && moves.every((move) => move.kind === "capture");
    const heat = this.heat();
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
      };
      for (const [name, on] of Object.entries(states)) button.classList.toggle(name, on);
      const share = heat.get(cell.name);
      button.classList.toggle("heat", share !== undefined);
      button.style.setProperty("--heat", share ?? 0);
      button.firstChild.textContent = share === undefined ? "" : percent(share);
      button.tabIndex = cell.name === this.current ? 0 : -1;
      button.setAttribute("aria-label", label(cell, states, share));
      if (states.source) button.setAttribute("aria-pressed", String(states.selected));
      else button.removeAttribute("aria-pressed");
    }
  }

  // Returns the probabilities to show, by cell: of the targets of the selected piece, or else of the pieces to move.
  heat() {
    const heat = new Map();
    if (this.hint === null) return heat;
    const byAction = new Map(this.hint.moves.map((move) => [move.action, move.probability]));
    for (const move of this.moves()) {
      if (this.selected !== null && move.source !== this.selected) continue;
      const cell = this.selected === null ? (move.source ?? move.target) : move.target;
      const probability = byAction.get(move.action) ?? 0;
      if (probability > 0) heat.set(cell, (heat.get(cell) ?? 0) + probability);
    }
    return heat;
  }

  // -- choosing ------------------------------------------------------------------------------------------------------

  moves() {
    return this.enabled ? this.view.legal.filter((move) => move.target !== null) : [];
  }

  sources() {
    return new Set(this.moves().map((move) => move.source).filter((source) => source !== null));
  }

  select(name) {
    this.selected = name;
    this.closeChoices();
    this.draw();
  }

  // Chooses a cell: a piece to move, a target of the selected piece, or an edge.
  choose(name) {
    if (!this.enabled) {
      this.tell(this.view.over ? "The game is over." : "It is not your turn.");
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
      this.tell(`${name} is picked. Choose a target.`);
    } else {
      const begin = this.selected === null ? "No legal move begins" : `${this.selected} cannot move to ${name}; no legal move begins`;
      this.select(null);
      this.tell(`${begin} on ${name}.`);
      if (this.sources().size === 1) this.select([...this.sources()][0]);
    }
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
    this.buttons.get(this.current)?.focus();
  }

  // -- mouse, finger and keys ----------------------------------------------------------------------------------------

  clicked(event) {
    const fromKeyboard = event.detail === 0;
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
      const moves = this.moves();
      const useful = new Set(moves.filter((move) => move.source === this.selected).map((move) => move.target));
      for (const source of this.sources()) useful.add(source);
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

export const percent = (share) => (share > 0 && share < 0.005 ? "<1" : String(Math.round(100 * share)));

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

function label(cell, states, share) {
  const parts = [cell.label];
  if (states.selected) parts.push("picked");
  else if (states.forced) parts.push("must capture");
  else if (states.source) parts.push("can move");
  if (states.target) parts.push("target");
  if (share !== undefined) parts.push(`hint ${percent(share)} percent`);
  return parts.join(", ");
}
