// The dialog in which a game, its parameters and its players are chosen.

import { post } from "./server.js";
import { made, suggest } from "./panels.js";

const node = (id) => document.getElementById(id);

export class NewGame {
  // `offered` is the server's list of games; `begin({game, seats, seed})` starts one and throws what the server says.
  constructor(offered, begin) {
    this.offered = offered;
    this.begin = begin;
    this.agents = []; // that play the chosen game
    for (const name of Object.keys(offered.games)) node("game").append(new Option(name, name));
    node("game").addEventListener("change", () => this.gameChosen());
    node("parameters").addEventListener("change", () => this.describe());
    node("form").addEventListener("submit", (event) => this.submitted(event));
    node("close").addEventListener("click", () => node("dialog").close());
    node("seed").value = offered.seed;
  }

  async open(view) {
    const [, name, parameters] = /^(?:[^(]*:)?(\w+)(?:\((.*)\))?$/.exec(view.game) ?? [];
    if (name in this.offered.games) node("game").value = name;
    this.gameChosen(parameters);
    node("dialog").showModal();
  }

  // Makes a field for every parameter of the chosen game. `written` has values: "size=2, num_players=6".
  gameChosen(written = "") {
    const values = new Map(written.split(", ").map((part) => part.split("=")));
    node("parameters").replaceChildren(
      ...this.offered.games[node("game").value].map(({ name, default: value }) => {
        const label = made("label", "", `${name} `);
        const field = document.createElement("input");
        field.name = name;
        field.maxLength = 60;
        field.spellcheck = false;
        field.autocomplete = "off";
        const text = (values.get(name) ?? value).replaceAll("'", "");
        field.value = text === "None" ? "" : text; // an empty field leaves the value to the game
        label.append(field);
        return label;
      }),
    );
    this.describe();
  }

  game() {
    const fields = [...node("parameters").querySelectorAll("input")].filter((field) => field.value.trim() !== "");
    return `${node("game").value}(${fields.map((field) => `${field.name}=${field.value.trim()}`).join(", ")})`;
  }

  // Asks the server for the seats of the chosen game and for the agents that play it.
  async describe() {
    const game = this.game();
    try {
      const { seats, agents } = await post("describe", { game });
      if (game !== this.game()) return;
      this.problem("");
      suggest(node("agents"), agents);
      const players = this.players();
      const opponent = ["baseline", "greedy"].find((agent) => agents.includes(agent)) ?? "random";
      const lost = this.agents.filter((agent) => !agents.includes(agent)); // they played the game before, but not this one
      this.agents = agents;
      node("new-seats").replaceChildren(
        ...Array.from({ length: seats }, (_, index) => {
          const label = made("label", "", `Seat ${index} `);
          const field = document.createElement("input");
          field.setAttribute("list", "agents");
          field.maxLength = 300;
          field.spellcheck = false;
          field.autocomplete = "off";
          const player = players[index] ?? (index === 0 ? "human" : opponent);
          field.value = lost.includes(player) ? opponent : player;
          label.append(field);
          return label;
        }),
      );
    } catch (error) {
      this.problem(error.message);
    }
  }

  players() {
    return [...node("new-seats").querySelectorAll("input")].map((field) => field.value.trim());
  }

  async submitted(event) {
    event.preventDefault();
    node("start").disabled = true;
    try {
      await this.begin({ game: this.game(), seats: this.players(), seed: Number(node("seed").value) });
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
