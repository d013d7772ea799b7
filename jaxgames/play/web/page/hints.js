// What an agent thinks of the position: its move, for one position; its other moves where Advanced asks for them.

import { isShown, percent } from "./game.js";
import { made } from "./panels.js";
import { Refused, post } from "./server.js";

const ROWS = 5; // moves in the list
const node = (id) => document.getElementById(id);

export class Hints {
  // `show(hint)` shows the first move of a hint on the board, null none; `say` and `problem` show messages, `counted` counts seconds.
  constructor({ show, say, problem, counted }) {
    Object.assign(this, { show, say, problem, counted });
    this.asking = null; // stops a request
  }

  get on() {
    return node("hint").getAttribute("aria-pressed") === "true";
  }

  // Shows the hint for the position of a view, or hides it.
  toggle(view) {
    const wanted = !this.on;
    this.problem("");
    this.forget();
    this.say(view.status);
    if (wanted) this.ask(view);
  }

  forget() {
    this.asking?.abort();
    node("hint").setAttribute("aria-pressed", "false");
    this.show(null);
    node("thoughts").hidden = true;
  }

  // Asks what an agent thinks of the position, or with `last` what the agent thought that played the last ply.
  async ask(view, last = false) {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    node("hint").setAttribute("aria-busy", "true");
    node("hint").setAttribute("aria-pressed", String(!last));
    try {
      const agent = node("hint-agent").value.trim() || null; // without one, the server chooses
      const request = post("hint", { id: view.id, agent, last }, asking.signal);
      const message = "The computer looks at your position. The first time takes longer.";
      const hint = await (last ? request : this.counted(message, request));
      if (asking.signal.aborted || hint.position !== view.position) return;
      if (node("show-thoughts").checked) this.fill(hint, view, last);
      if (last) return; // the moves of the position before are not on this board
      this.show(hint);
      this.say(`The computer would play ${hint.moves[0].text}${hint.chance === null ? "" : `. ${chanceOf(hint, view)}`}`);
    } catch (error) {
      if (error.name === "AbortError" || asking.signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      if (last) return; // this agent tells nothing
      this.forget();
      this.problem(error.message);
      this.say(view.status);
    } finally {
      if (this.asking === asking) node("hint").removeAttribute("aria-busy");
    }
  }

  fill(hint, view, last) {
    const rows = hint.moves.filter((move) => isShown(move.probability)).slice(0, ROWS);
    node("tops").replaceChildren(...rows.map(row));
    const wouldPlay = rows.length === 1 ? "The computer would play" : "What the computer would play, and how often";
    node("tops-caption").textContent = last ? "What the computer thought of its last move" : wouldPlay;
    node("chance").hidden = hint.chance === null;
    if (hint.chance !== null) {
      node("chance-words").textContent = chanceOf(hint, view);
      node("chance-bar").value = hint.chance;
    }
    node("thoughts").hidden = false;
  }
}

function chanceOf({ seat, chance }, view) {
  const { name, words } = view.seats[seat];
  return `${words === "You" ? "Your" : `${name}'s`} chance to win: ${percent(chance)} %`;
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
