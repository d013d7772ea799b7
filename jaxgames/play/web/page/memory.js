// The game that the browser remembers, so that a reload or another server of the same game continues it.

const MEMORY = "jaxgames"; // the key in the browser's storage
export const REFUSED = "jaxgames refused"; // the key of the last game that a server could not continue

// Stores the game of a view. `home` is the game and the seats of the server's command line.
export function remember(home, view) {
  try {
    localStorage.setItem(MEMORY, JSON.stringify({ home, id: view.id, saved: view.saved }));
  } catch {
    // the browser's storage is full or forbidden: the game is played, but not remembered
  }
}

// Returns what was stored for this home, null if nothing was.
export function remembered(home) {
  try {
    const memory = JSON.parse(localStorage.getItem(MEMORY) ?? "null");
    return memory?.home === home ? memory : null;
  } catch {
    return null; // another program's entry
  }
}

// Keeps the game that is stored now, which the server has refused, under the key REFUSED.
export function keepRefused() {
  try {
    localStorage.setItem(REFUSED, localStorage.getItem(MEMORY));
  } catch {
    // the browser's storage is full or forbidden
  }
}
