// The game as a file or a web page, and the position as text.

import { Refused, download, text } from "./server.js";

const node = (id) => document.getElementById(id);

export const saveGame = (view) => download(view.saved, "application/json", `${view.title}.json`);

// Saves the game as one page with all positions.
export async function saveStillPage(view) {
  download(await text(`/api/still?id=${encodeURIComponent(view.id)}`), "text/html", `${view.title}.html`);
}

// Copies the text of the position. Returns what to tell the person.
export async function copyPosition(view) {
  node("position").value = view.position;
  try {
    await navigator.clipboard.writeText(view.position);
    return "The position is copied.";
  } catch {
    node("position").select(); // the browser forbids the clipboard here: the person can press the keys
    return "Press Ctrl and C to copy the position.";
  }
}

// Returns the saved game in the text of a file, which can be a still page. (To a DOMParser, this page's policy would
// report the styles of the still page.)
function gameIn(content) {
  if (!content.trimStart().startsWith("<")) return content;
  return /<script type="application\/json" id="game">(.*?)<\/script>/s.exec(content)?.[1] ?? "";
}

// Reads the file that the person has chosen, and gives its game to `load(saved, name)`; `refuse(message)` shows an error.
export async function loadFile(load, refuse) {
  const [file] = node("file").files;
  node("file").value = "";
  if (file === undefined) return;
  try {
    await load(gameIn(await file.text()), file.name);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    refuse(`${file.name}: ${error.message}`);
  }
}
