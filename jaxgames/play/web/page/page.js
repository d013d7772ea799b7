// The page: it shows what the server sends, and sends what a person does.

import { Board } from "./board.js";
import { forcedCapture, personMoves, resigningSeat } from "./game.js";
import { REFUSED, keepRefused, remember, remembered } from "./memory.js";
import { NewGame } from "./newgame.js";
import { showControls, showExtra, showMoves, showSeats, showThoughts, suggest } from "./panels.js";
import { Refused, dark, download, follow, get, post, text, theme, untilBack } from "./server.js";

const AUTOPLAY_INTERVAL = 800; // milliseconds between positions
const FORCED_CAPTURE_DELAY = 400; // milliseconds until a capture continues that can only continue in one way

const node = (id) => document.getElementById(id);

let view = null; // what the server sent last
let notice = ""; // why the game before was not continued, until a person acts
let home = ""; // the game and seats of the server's command line
let following = null; // stops the stream of events
let wantedPly = null; // where the slider stands, while the server is asked for another position
let hinting = null; // stops a request for a hint
let described = null; // the request for the agents that play this game
let autoplay = null;
let thinkingSince = 0;
let continuing = 0; // the timer of a capture that continues by itself

const board = new Board(playMove, say);

// -- showing ---------------------------------------------------------------------------------------------------------

function say(message) {
  node("status").textContent = message;
}

let stopped = ""; // the problem while no server answers, which no late reply replaces

function problem(message) {
  node("problem").textContent = stopped || message;
  node("problem").hidden = !(stopped || message);
}

function show(next) {
  const before = view;
  if (before !== null && next.id === before.id && next.version <= before.version) return;
  view = next;
  const moved = before === null || before.id !== view.id || before.ply !== view.ply || before.position !== view.position;
  if (moved) forgetHint();
  document.title = `${view.name} · jaxgames`;
  node("name").textContent = view.name;
  node("cells").setAttribute("aria-label", `Board of ${view.name}`);
  board.show(view, personMoves(view));
  showSeats(view, (seats) => act("seats", { seats }));
  showMoves(view, goTo);
  showExtra(view, playMove);
  showControls(view, wantedPly !== null);
  if (document.activeElement !== node("position")) node("position").value = view.position;
  problem(view.problem || notice);
  say(view.status);
  thinkingSince = view.thinking === null ? 0 : performance.now();
  remember(home, view);
  if (moved && node("hint").getAttribute("aria-pressed") === "true" && !view.over && personMoves(view)) askHint();
}

// The seconds that an agent has been thinking are not read out, so they are not part of the status.
setInterval(() => {
  const seconds = thinkingSince === 0 ? 0 : Math.floor((performance.now() - thinkingSince) / 1000);
  node("status").dataset.seconds = seconds > 0 ? `${seconds} s` : "";
}, 500);

// -- acting ----------------------------------------------------------------------------------------------------------

// Sends what a person does. Returns whether the game of the page has changed as it says.
async function act(verb, fields = {}) {
  clearTimeout(continuing);
  notice = "";
  if (verb !== "jump") setAutoplay(false);
  const { id } = view;
  try {
    const next = await post(verb, { id, theme: theme(), ...fields });
    if (view.id !== id) return false; // another game has replaced this one meanwhile
    show(next);
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    problem(error.message);
    return false;
  }
}

async function playMove(move) {
  const { id, ply } = view;
  if (!(await act("play", { action: move.action, ply }))) return;
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

async function slideTo(ply) {
  const busy = wantedPly !== null;
  wantedPly = ply;
  node("ply").value = ply;
  if (busy) return;
  while (wantedPly !== view.ply && (await act("jump", { ply: wantedPly }))) {
    // the slider may have moved on meanwhile
  }
  wantedPly = null;
  node("ply").value = view.ply;
}

function setAutoplay(on) {
  clearInterval(autoplay);
  autoplay = null;
  node("autoplay").setAttribute("aria-pressed", String(on));
  if (!on) return;
  if (view.ply === view.plies) slideTo(0);
  autoplay = setInterval(async () => {
    await slideTo(view.ply + 1);
    if (view.ply >= view.plies) setAutoplay(false);
  }, AUTOPLAY_INTERVAL);
}

// Shows the position that a person asks for, which ends the autoplay.
function goTo(ply) {
  setAutoplay(false);
  slideTo(ply);
}

// -- hints -----------------------------------------------------------------------------------------------------------

async function askHint() {
  hinting?.abort();
  hinting = new AbortController();
  const { id, ply, position } = view;
  node("hint").setAttribute("aria-busy", "true");
  await described;
  const agent = node("hint-agent").value.trim();
  say(`${agent} looks at this position. The first time takes longer.`);
  try {
    const hint = await post("hint", { id, agent }, hinting.signal);
    if (view.id !== id || view.ply !== ply || view.position !== position) return;
    board.showHint(hint);
    showThoughts(hint, view);
    const best = hint.moves[0];
    say(`${agent} likes ${best.text} best, with ${Math.round(100 * best.probability)} percent.`);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Refused)) throw error;
    problem(error.message);
    say(view.status);
  } finally {
    node("hint").removeAttribute("aria-busy");
  }
}

function forgetHint() {
  hinting?.abort();
  board.hint = null;
  showThoughts(null, view);
}

function toggleHint() {
  const on = node("hint").getAttribute("aria-pressed") !== "true";
  node("hint").setAttribute("aria-pressed", String(on));
  problem("");
  if (on) askHint();
  else {
    forgetHint();
    board.draw();
    say(view.status);
  }
}

// -- files and positions ---------------------------------------------------------------------------------------------

async function saveStillPage() {
  try {
    download(await text(`/api/still?id=${encodeURIComponent(view.id)}`), "text/html", `${view.name}.html`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    problem(error.message);
  }
}

async function copyPosition() {
  node("position").value = view.position;
  try {
    await navigator.clipboard.writeText(view.position);
    say("The position is copied.");
  } catch {
    node("position").select(); // the browser forbids the clipboard here: the person can press the keys
    say("Press Ctrl and C to copy the position.");
  }
}

// Returns the saved game in the text of a file, which can be a still page. (To a DOMParser, this page's policy would
// report the styles of the still page.)
function gameIn(content) {
  if (!content.trimStart().startsWith("<")) return content;
  return /<script type="application\/json" id="game">(.*?)<\/script>/s.exec(content)?.[1] ?? "";
}

async function loadFile() {
  const [file] = node("file").files;
  node("file").value = "";
  if (file === undefined) return;
  try {
    const saved = gameIn(await file.text());
    open(await counted(`${file.name} is loaded: its moves are played again.`, post("load", { saved, theme: theme() })));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(view.status);
    problem(`${file.name}: ${error.message}`);
  }
}

// -- the game on the server ------------------------------------------------------------------------------------------

// Shows another game, and follows it from now on. `message` is shown until a person acts.
function open(next, message = "") {
  view = null;
  notice = message;
  clearTimeout(continuing);
  setAutoplay(false);
  show(next);
  described = describe().catch((error) => {
    if (!(error instanceof Refused)) throw error;
    problem(error.message);
  });
  followGame();
}

async function describe() {
  const { agents, hints } = await post("describe", { game: view.game });
  suggest(node("agents"), agents);
  suggest(node("hint-agents"), hints);
  const players = view.seats.map((seat) => seat.player);
  const first = [...players, "greedy"].find((player) => hints.includes(player));
  if (!hints.includes(node("hint-agent").value)) node("hint-agent").value = first ?? hints[0];
}

// Returns the game of this browser if the server has it or can continue it, or else a new one and the reason.
async function continued(start) {
  const memory = remembered(home);
  let refusal = "";
  if (memory !== null) {
    try {
      return [await post("show", { id: memory.id, theme: theme() }), refusal];
    } catch (error) {
      if (error.status !== 404) throw error;
    }
    try {
      return [await post("load", { saved: memory.saved, theme: theme() }), refusal];
    } catch (error) {
      if (error.status !== 422 && error.status !== 413) throw error;
      keepRefused();
      refusal = `The game before cannot be continued: ${error.message}. The browser's storage keeps it as "${REFUSED}".`;
    }
  }
  return [await post("new", { seats: start.seats, theme: theme() }), refusal];
}

async function followGame() {
  following?.abort();
  const stop = new AbortController();
  following = stop;
  while (!stop.signal.aborted) {
    try {
      await follow(view.id, show, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return;
      if (!(error instanceof Refused)) throw error;
      await recover(error);
      return;
    }
  }
}

// Continues the game when a server of the same game is there again, however often it stops meanwhile.
async function recover(ended) {
  let error = ended;
  while (error !== null) {
    if (error !== ended || error.status !== 404) {
      setAutoplay(false);
      stopped = error.status === 0 ? "The server has stopped. Start it again: this page then continues." : error.message;
      problem(stopped);
      board.show(view, false);
      say("No server");
      await untilBack();
      stopped = "";
    }
    error = await reopened();
  }
}

// Opens the game of this browser again. Returns the Refused of the server, null for none.
async function reopened() {
  try {
    const start = await get("/api/start");
    if (homeOf(start) === home) open(...(await continued(start)));
    else problem("Another game is served at this address now. Reload the page to play it.");
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return error;
  }
}

const homeOf = (start) => JSON.stringify([start.game, start.seats]);

// -- keys and buttons ------------------------------------------------------------------------------------------------

const KEYS = {
  e: () => document.querySelector("#extra [aria-keyshortcuts]")?.click(),
  u: () => node("undo").click(),
  U: () => node("undo-turn").click(),
  r: () => node("redo").click(),
  h: () => node("hint").click(),
  g: () => !node("go").hidden && node("go").click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || node("dialog").open) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "range") return;
  KEYS[event.key]?.();
});

const CLICKS = {
  undo: () => act("undo"),
  "undo-turn": () => act("undo", { turn: true }),
  redo: () => goTo(Math.min((wantedPly ?? view.ply) + 1, view.plies)),
  resign,
  stop: () => act("stop"),
  go: () => act("go"),
  first: () => goTo(0),
  previous: () => goTo(view.ply - 1),
  next: () => goTo(view.ply + 1),
  last: () => goTo(view.plies),
  autoplay: () => setAutoplay(autoplay === null),
  hint: toggleHint,
  copy: copyPosition,
  set: () => act("position", { text: node("position").value.trim() }),
  save: () => download(view.saved, "application/json", `${view.name}.json`),
  still: saveStillPage,
  load: () => node("file").click(),
};

// Returns the result of a request, and counts its seconds behind a message until then.
async function counted(message, request) {
  say(message);
  const since = performance.now();
  const clock = setInterval(() => (node("status").dataset.seconds = `${Math.floor((performance.now() - since) / 1000)} s`), 500);
  try {
    return await request;
  } finally {
    clearInterval(clock);
  }
}

async function begin() {
  let start;
  const prepare = async () => {
    start = await get("/api/start");
    home = homeOf(start);
    open(...(await continued(start)));
  };
  try {
    await counted("Preparing the game: its rules are compiled. The first time takes some seconds.", prepare());
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    problem(error.message);
    return;
  }
  const dialog = new NewGame(start, async (wanted) => open(await post("new", { ...wanted, theme: theme() })));
  node("new-game").addEventListener("click", () => dialog.open(view));
  for (const [id, clicked] of Object.entries(CLICKS)) node(id).addEventListener("click", clicked);
  node("ply").addEventListener("input", () => goTo(Number(node("ply").value)));
  node("file").addEventListener("change", loadFile);
  node("hint-agent").addEventListener("change", () => node("hint").getAttribute("aria-pressed") === "true" && askHint());
  dark.addEventListener("change", async () => {
    const next = await post("show", { id: view.id, theme: theme() });
    open(next);
  });
}

begin();
