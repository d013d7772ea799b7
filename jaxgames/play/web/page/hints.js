// What an agent thinks of the position: the moves that it would play, and the chance to win.

import { isShown, percent } from "./game.js";
import { made } from "./panels.js";
import { Refused, post } from "./server.js";

const ROWS = 5; // moves in the list
const node = (id) => document.getElementById(id);

export class Hints {
  // `show(hint)` shows the shares of the moves on the board, null none; `say` and `problem` show messages, `counted` counts seconds.
  constructor({ show, say, problem, counted }) {
    Object.assign(this, { show, say, problem, counted });
    this.asking = null; // stops a request
  }

  get on() {
    return node("hint").getAttribute("aria-pressed") === "true";
  }

  // Switches the hints on or off for the position of a view.
  toggle(view) {
    node("hint").setAttribute("aria-pressed", String(!this.on));
    this.problem("");
    if (this.on) return this.ask(view);
    this.forget();
    this.say(view.status);
    return null;
  }

  forget() {
    this.asking?.abort();
    this.show(null);
    node("thoughts").hidden = true;
  }

  // Asks what an agent thinks of the position, or with `last` what the agent thought that played the last ply.
  async ask(view, last = false) {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    node("hint").setAttribute("aria-busy", "true");
    try {
      const agent = node("hint-agent").value.trim() || null; // without one, the server chooses
      const request = post("hint", { id: view.id, agent, last }, asking.signal);
      const message = "The computer looks at your position. The first time takes longer.";
      const hint = await (last ? request : this.counted(message, request));
      if (asking.signal.aborted || hint.position !== view.position) return;
      if (!last) this.show(hint); // the moves of the position before are not on this board
      this.fill(hint, view, last);
      if (last) return;
      this.say(view.status);
    } catch (error) {
      if (error.name === "AbortError" || asking.signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      if (last) return; // this agent tells nothing
      this.problem(error.message);
      this.say(view.status);
    } finally {
      if (this.asking === asking) node("hint").removeAttribute("aria-busy");
    }
  }

  fill(hint, view, last) {
    const you = view.seats[hint.seat].words === "You";
    const rows = hint.moves.filter((move) => isShown(move.probability)).slice(0, ROWS);
    node("tops").replaceChildren(...rows.map(row));
    const wouldPlay = rows.length === 1 ? "The computer would play" : "What the computer would play, and how often";
    node("tops-caption").textContent = last ? "What the computer thought of its last move" : wouldPlay;
    node("chance").hidden = hint.chance === null;
    if (hint.chance !== null) {
      node("chance-words").textContent = `${you ? "Your" : `${view.seats[hint.seat].name}'s`} chance to win: ${percent(hint.chance)} %`;
      node("chance-bar").value = hint.chance;
    }
    node("thoughts").hidden = false;
  }
}

function row(move) {
  const line = made("tr");
  const meter = made("td", "bar");
  meter.append(made("span", "fill"), made("span", "number", `${percent(move.probability)} %`));
  meter.firstChild.style.width = `${100 * move.probability}%`;
  const head = made("th", "", move.text);
  head.scope = "row";
  line.append(head, meter);
  return line;
}
