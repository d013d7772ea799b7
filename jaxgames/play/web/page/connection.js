// The game on the server: how the page finds it again after a reload, follows its changes, and waits for a server that
// has stopped.

import { REFUSED, keepRefused, remembered } from "./memory.js";
import { Refused, follow, get, post, untilBack } from "./server.js";

const homeOf = (start) => JSON.stringify([start.game, start.seats]);

export class Connection {
  // `look()` returns how the page wants to see a game; `open(view, message)` shows another game, `show(view)` the next
  // view of the game that is shown; `lost(message)` is called when the server has stopped, "" when it is back.
  constructor({ look, open, show, lost }) {
    Object.assign(this, { look, open, show, lost });
    this.home = ""; // the game and seats of the server's command line
    this.following = null; // stops the stream of events
  }

  // Opens the game of this browser. Returns what the server offers.
  async start() {
    const start = await get("/api/start");
    this.home = homeOf(start);
    this.open(...(await this.continued(start)));
    return start;
  }

  // Returns the game of this browser if the server has it or can continue it, or else a new one and the reason.
  async continued(start) {
    const memory = remembered(this.home);
    let refusal = "";
    if (memory !== null) {
      try {
        return [await post("show", { id: memory.id, ...this.look() }), refusal];
      } catch (error) {
        if (error.status !== 404) throw error;
      }
      try {
        return [await post("load", { saved: memory.saved, ...this.look() }), refusal];
      } catch (error) {
        if (error.status !== 422) throw error;
        keepRefused();
        refusal = `The game before cannot be continued: ${error.message}. The browser's storage keeps it as "${REFUSED}".`;
      }
    }
    return [await post("new", { seats: start.seats, ...this.look() }), refusal];
  }

  // Shows every change of a game from now on.
  async follow(id) {
    this.following?.abort();
    const stop = new AbortController();
    this.following = stop;
    while (!stop.signal.aborted) {
      try {
        await follow(id, this.look(), this.show, stop.signal);
      } catch (error) {
        if (stop.signal.aborted) return;
        if (!(error instanceof Refused)) throw error;
        await this.recover(error);
        return;
      }
    }
  }

  // Continues the game when a server of the same game is there again, however often it stops meanwhile.
  async recover(ended) {
    let error = ended;
    while (error !== null) {
      if (error !== ended || error.status !== 404) {
        this.lost(error.status === 0 ? "The server has stopped. Start it again: this page then continues." : error.message);
        await untilBack();
        this.lost("");
      }
      error = await this.reopened();
    }
  }

  // Opens the game of this browser again. Returns the Refused of the server, null for none.
  async reopened() {
    try {
      const start = await get("/api/start");
      if (homeOf(start) === this.home) this.open(...(await this.continued(start)));
      else this.lost("Another game is served at this address now. Reload the page to play it.");
      return null;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return error;
    }
  }
}
