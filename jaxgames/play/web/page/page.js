// The page: it shows what the server sends, and sends what a person does.

import { Board } from "./board.js";
import { Connection } from "./connection.js";
import { copyPosition, loadFile, saveGame, saveStillPage } from "./files.js";
import { forcedCapture, isConsidered, personMoves, playedByAgent, resigningSeat } from "./game.js";
import { Hints } from "./hints.js";
import { remember } from "./memory.js";
import { NewGame } from "./newgame.js";
import { showControls, showExtra, showMoves, showPlayers, suggest } from "./panels.js";
import { Replay } from "./replay.js";
import { hideReview, showReview } from "./review.js";
import { showRules } from "./rules.js";
import { Refused, dark, post, theme } from "./server.js";

const FORCED_CAPTURE_DELAY = 400; // milliseconds until a capture continues that can only continue in one way
const STALE = 409; // the status of a move in a position that is not shown any more

const node = (id) => document.getElementById(id);

let view = null; // what the server sent last
let levels = []; // of this game, as {agent, words, strength}
let bottom = null; // the seat at the bottom of the board; null leaves it to the server
let notice = ""; // what was refused, or why the game before was not continued, until a person acts
let stopped = ""; // the problem while no server answers, which no late reply replaces
let thinkingSince = 0; // when an agent began to think, 0 if none does
let waitingSince = 0; // when the last counted request was sent, 0 without one
let continuing = 0; // the timer of a capture that continues by itself

const look = () => ({ theme: theme(), ...(bottom === null ? {} : { seat: bottom }) });
const board = new Board(playMove, say);
const hints = new Hints({ show: (hint) => board.showHint(hint), say, problem: keepProblem, counted });
const replay = new Replay(() => view, (ply) => act("jump", { ply }));
const connection = new Connection({ look, open, show, lost });

// -- showing ---------------------------------------------------------------------------------------------------------

function say(message) {
  node("status").textContent = message;
  node("status").dataset.seconds = ""; // of the message before
}

function problem(message) {
  node("problem").textContent = stopped || message;
  node("problem").hidden = !(stopped || message);
}

// Shows a problem until a person acts; a new view does not hide it.
function keepProblem(message) {
  notice = message;
  problem(message);
}

function show(next) {
  const before = view;
  if (before !== null && next.id === before.id && next.version < before.version) return;
  if (before !== null && next.id === before.id && next.version === before.version && next.bottom === before.bottom) return;
  view = next;
  const moved = before === null || before.id !== view.id || before.ply !== view.ply || before.position !== view.position;
  document.title = `${view.title} · jaxgames`;
  node("name").textContent = view.title;
  node("cells").setAttribute("aria-label", `Board of ${view.title}`);
  board.show(view, personMoves(view));
  if (moved) hints.forget();
  if (!view.over && view.ply === view.plies) {
    hideReview();
    board.showMistake(null);
  }
  showPlayers(view, levels, (seats) => act("seats", { seats }));
  showMoves(view, (ply) => replay.goTo(ply));
  showExtra(view, playMove);
  showControls(view, replay.sliding);
  if (document.activeElement !== node("position")) node("position").value = view.position;
  problem(view.problem || notice);
  say(view.status);
  node("status").classList.toggle("ended", view.over);
  thinkingSince = view.thinking === null && !isConsidered(view) ? 0 : performance.now();
  remember(connection.home, view);
  if (moved && playedByAgent(view) && node("show-thoughts").checked) hints.ask(view, true);
}

function lost(message) {
  stopped = message;
  problem(message);
  if (message === "") return;
  replay.play(false);
  board.show(view, false);
  say("No server");
}

// The seconds of an agent or of a request are not read out, so they are not part of the status.
setInterval(() => {
  const since = waitingSince || thinkingSince;
  const seconds = since === 0 ? 0 : Math.floor((performance.now() - since) / 1000);
  node("status").dataset.seconds = seconds > 0 ? `${seconds} s` : "";
}, 500);

// -- acting ----------------------------------------------------------------------------------------------------------

// Runs what a person asks for; shows the reason where the server refuses it.
async function tryTo(action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    problem(error.message);
    return undefined;
  }
}

// Sends what a person does. Returns whether the game of the page has changed as it says.
async function act(verb, fields = {}) {
  clearTimeout(continuing);
  notice = "";
  if (verb !== "jump") replay.play(false);
  const { id } = view;
  try {
    const next = await post(verb, { id, ...look(), ...fields });
    if (view.id !== id) return false; // another game has replaced this one meanwhile
    show(next);
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (view.id !== id) return false;
    board.show(view, personMoves(view)); // without the move that the picture has shown already
    say(view.status);
    if (error.status === STALE) show(await post("show", { id, ...look() }));
    else keepProblem(error.message);
    return false;
  }
}

// Asks before the rest of a finished game is dropped. Returns whether it may be.
const mayDrop = () => !view.ended || confirm("Continue from here? The rest of the game is dropped.");

async function playMove(move) {
  const { id, ply } = view;
  if (!mayDrop()) return;
  hints.forget();
  board.showMove(move);
  if (!(await counted("Your move is sent.", act("play", { action: move.action, ply })))) return;
  if (view.id !== id || view.ply !== ply + 1) return; // the person has undone it meanwhile
  const next = forcedCapture(view);
  if (next === null) return;
  continuing = setTimeout(() => {
    if (view.id === id && view.ply === ply + 1 && forcedCapture(view)?.action === next.action) playMove(next);
  }, FORCED_CAPTURE_DELAY);
}

function resign() {
  const seat = resigningSeat(view);
  const several = view.seats.filter(({ player }) => player === "human").length > 1;
  if (confirm(`Resign this game${several ? ` as ${view.seats[seat].name}` : ""}?`)) act("resign", { seat });
}

// Turns the board for the next seat.
async function flip() {
  bottom = (view.bottom + 1) % view.seats.length;
  await act("show");
  connection.follow(view.id);
}

// Starts the same game again; `shift` is how many seats everybody moves on.
async function rematch(shift) {
  const { game } = view;
  const players = view.seats.map((seat) => seat.player);
  const seats = [...players.slice(-shift), ...players.slice(0, -shift)];
  const seed = Math.floor(Math.random() * 2 ** 31);
  await tryTo(async () => open(await post("new", { game, seats: shift ? seats : players, seed, theme: theme() })));
}

async function review() {
  const { id, plies } = view;
  const found = await tryTo(() => counted("The computer looks at every move of the game. This can take a minute.", post("review", { id })));
  if (view.id !== id || view.plies !== plies) return;
  say(view.status);
  if (found === undefined) return;
  showReview(found, view, ({ ply, texts }) => {
    board.showMistake({ id, ply, texts });
    replay.goTo(ply);
  });
}

// Returns the result of a request, and counts its seconds behind a message until then.
async function counted(message, request) {
  say(message);
  const since = performance.now();
  waitingSince = since;
  try {
    return await request;
  } finally {
    if (waitingSince === since) waitingSince = 0;
  }
}

// -- games -----------------------------------------------------------------------------------------------------------

// Shows another game, and follows it from now on. `message` is shown until a person acts.
function open(next, message = "") {
  if (view?.game !== next.game) node("hint-agent").value = ""; // it may not play this game
  view = null;
  bottom = null;
  levels = [];
  notice = message;
  clearTimeout(continuing);
  replay.play(false);
  hideReview();
  show(next);
  tryTo(describe);
  tryTo(suggestAgents);
  connection.follow(view.id);
}

// Learns the levels of the game, for the menus of the players.
async function describe() {
  const { id, game } = view;
  const about = await post("describe", { game });
  if (view.id !== id) return;
  levels = about.levels;
  showPlayers(view, levels, (seats) => act("seats", { seats }));
}

async function suggestAgents() {
  if (node("advanced").open) suggest(node("agents"), (await post("agents", { game: view.game })).agents);
}

async function load(saved, name) {
  open(await counted(`${name} is loaded: its moves are played again.`, post("load", { saved, theme: theme() })));
}

// -- keys and buttons ------------------------------------------------------------------------------------------------

const KEYS = {
  e: () => document.querySelector("#extra [aria-keyshortcuts]")?.click(),
  u: () => node("undo").click(),
  h: () => node("hint").click(),
  f: () => !node("flip").hidden && node("flip").click(),
  g: () => !node("go").hidden && node("go").click(),
  ArrowLeft: () => node("previous").click(),
  ArrowRight: () => node("next").click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || view === null) return;
  KEYS[event.key]?.();
});

const CLICKS = {
  undo: () => act("undo"),
  flip,
  resign,
  draw: () => act("draw"),
  stop: () => act("stop"),
  go: () => mayDrop() && act("go"),
  "to-end": () => replay.goTo(view.plies),
  rematch: () => rematch(0),
  switch: () => rematch(1),
  "ask-review": review,
  hint: () => hints.toggle(view),
  "how-to": () => tryTo(() => showRules(view.game)),
  copy: async () => say(await copyPosition(view)),
  set: () => act("position", { text: node("position").value.trim() }),
  save: () => saveGame(view),
  still: () => tryTo(() => saveStillPage(view)),
  load: () => node("file").click(),
};

async function begin() {
  let start;
  const prepare = async () => (start = await connection.start());
  await tryTo(() => counted("Preparing the game: its rules are compiled. The first time takes some seconds.", prepare()));
  if (start === undefined) return;
  const dialog = new NewGame(start, async (wanted) => open(await post("new", { ...wanted, theme: theme() })));
  node("new-game").addEventListener("click", () => dialog.open(view));
  for (const [id, clicked] of Object.entries(CLICKS)) node(id).addEventListener("click", clicked);
  node("advanced").addEventListener("toggle", () => tryTo(suggestAgents));
  node("file").addEventListener("change", () => loadFile(load, (message) => (say(view.status), problem(message))));
  node("hint-agent").addEventListener("change", () => hints.on && hints.ask(view));
  dark.addEventListener("change", async () => open(await post("show", { id: view.id, ...look() })));
}

begin();
