// The dialog in which a game, its board, the opponent and the side are chosen; agents and other parameters by their
// texts are under Advanced.

import { agentField, made, playerOptions, suggest } from "./panels.js";
import { Refused, post } from "./server.js";

const RANDOM = "random"; // the side that is drawn by lot
const node = (id) => document.getElementById(id);

export class NewGame {
  // `offered` is the server's list of games; `begin({game, seats, seed})` starts one and throws what the server says.
  constructor(offered, begin) {
    this.offered = offered;
    this.begin = begin;
    for (const [name, { title }] of Object.entries(offered.games)) node("game").append(new Option(title, name));
    node("game").addEventListener("change", () => {
      if (this.wanted.opponent !== "human") this.wanted.opponent = null; // another game begins with its medium level
      this.gameChosen();
    });
    for (const id of ["menus", "parameters"]) node(id).addEventListener("change", () => this.describe());
    for (const id of ["opponent", "side"]) node(id).addEventListener("change", () => this.fillSeats());
    node("new-seats").parentNode.addEventListener("toggle", () => this.suggestAgents());
    node("form").addEventListener("submit", (event) => this.submitted(event));
    node("close").addEventListener("click", () => node("dialog").close());
  }

  async open(view) {
    const [, name, parameters] = /^(?:[^(]*:)?(\w+)(?:\((.*)\))?$/.exec(view.game) ?? [];
    if (name in this.offered.games) node("game").value = name;
    const players = view.seats.map((seat) => seat.player);
    const person = players.indexOf("human");
    this.wanted = { opponent: players.find((player, seat) => seat !== person), side: person };
    node("seed").value = Math.floor(Math.random() * 2 ** 31);
    node("dialog").showModal();
    await this.gameChosen(parameters);
  }

  // Makes the menus of the chosen game, and a field for every other parameter. `written` has values: "size=2, rows=3".
  gameChosen(written = "") {
    const { menus, parameters } = this.offered.games[node("game").value];
    const values = pairsOf(written);
    node("menus").replaceChildren(...menus.map((menu) => menuOf(menu, values)));
    const inMenus = new Set(menus.flatMap(({ options }) => options.flatMap(([text]) => [...pairsOf(text).keys()])));
    node("parameters").replaceChildren(
      ...parameters.filter(({ name }) => !inMenus.has(name)).map(({ name, default: value }) => {
        const field = document.createElement("input");
        Object.assign(field, { name, maxLength: 60, spellcheck: false, autocomplete: "off" });
        field.value = values.get(name) ?? unquoted(value); // an empty field leaves the value to the game
        const label = made("label", "", `${name} `);
        label.append(field);
        return label;
      }),
    );
    return this.describe();
  }

  game() {
    const chosen = [...node("menus").querySelectorAll("select")].map((select) => select.value);
    const fields = [...node("parameters").querySelectorAll("input")].filter((field) => field.value.trim() !== "");
    return `${node("game").value}(${[...chosen, ...fields.map(({ name, value }) => `${name}=${value.trim()}`)].join(", ")})`;
  }

  // Asks the server for the seats of the chosen game and for its levels.
  async describe() {
    const game = this.game();
    let about;
    try {
      about = await post("describe", { game });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.problem(error.message);
      return;
    }
    if (game !== this.game()) return;
    this.problem("");
    const { opponent, side } = this.wanted;
    this.strengths = new Map(about.levels.map(({ agent, strength }) => [agent, strength]));
    node("opponent").replaceChildren(...playerOptions(about.levels, "Another person"));
    const options = [...node("opponent").options].map((option) => option.value);
    // the opponent stays for the game that it plays already
    const medium = options[2] ?? options.at(-1);
    const chosen = [opponent, medium].find((text) => options.includes(text));
    node("opponent").value = chosen;
    node("side").replaceChildren(...about.names.map((name, seat) => new Option(name, seat)), new Option("Random", RANDOM));
    node("side").value = side === RANDOM || side in about.names ? side : 0;
    node("new-seats").replaceChildren(...about.names.map((name) => agentField(name, "", "new-agents")));
    this.fillSeats();
    this.suggestAgents();
  }

  // Puts the players that were chosen into the fields of the seats, which decide.
  fillSeats() {
    this.wanted = { opponent: node("opponent").value, side: node("side").value };
    node("strength").textContent = this.strengths.get(this.wanted.opponent) ?? "";
    const fields = [...node("new-seats").querySelectorAll("input")];
    const { opponent, side } = this.wanted;
    const seat = side === RANDOM ? Math.floor(Math.random() * fields.length) : Number(side);
    fields.forEach((field, index) => (field.value = index === seat ? "human" : opponent));
  }

  // Asks for the agents that play the chosen game, if somebody sees them: to make them takes seconds.
  async suggestAgents() {
    const game = this.game();
    if (!node("new-seats").parentNode.open) return;
    try {
      const { agents } = await post("agents", { game });
      if (game === this.game()) suggest(node("new-agents"), agents);
    } catch (error) {
      if (!(error instanceof Refused)) throw error; // the dialog shows already what is wrong with the game
    }
  }

  async submitted(event) {
    event.preventDefault();
    node("start").disabled = true;
    const seats = [...node("new-seats").querySelectorAll("input")].map((field) => field.value.trim());
    try {
      await this.begin({ game: this.game(), seats, seed: Number(node("seed").value) });
      this.problem("");
      node("dialog").close();
    } catch (error) {
      this.problem(error.message);
    } finally {
      node("start").disabled = false;
    }
  }

  problem(text) {
    node("dialog-problem").textContent = text;
    node("dialog-problem").hidden = text === "";
  }
}

// Returns a value of a parameter as a field has it: without quotes, and nothing for None.
const unquoted = (value) => (value === "None" ? "" : value.replaceAll("'", ""));

// Returns the values of the parameters in a text such as "size=2, num_players=6", by their names.
const pairsOf = (text) => new Map(text.split(", ").filter(Boolean).map((pair) => pair.split("=")).map(([name, value]) => [name, unquoted(value)]));

// Returns a menu in its label. The values of the game that is played now are chosen, also if the menu lacks them.
function menuOf({ name, words, options, default: first }, values) {
  const select = document.createElement("select");
  select.name = name;
  select.append(...options.map(([text, option]) => new Option(option, text)));
  const parameters = [...pairsOf(first).keys()];
  const isPlayed = ([text]) => [...pairsOf(text)].every(([parameter, value]) => values.get(parameter) === value);
  const played = parameters.map((parameter) => `${parameter}=${values.get(parameter)}`).join(", ");
  select.value = options.find(isPlayed)?.[0] ?? first;
  if (values.size > 0 && !options.some(isPlayed)) {
    select.append(new Option(played, played));
    select.value = played;
  }
  const label = made("label", "", `${words} `);
  label.append(select);
  return label;
}
