// The positions of a game that are shown one after the other: the slider, its buttons, and the game as a film.

const INTERVAL = 800; // milliseconds between positions
const node = (id) => document.getElementById(id);

export class Replay {
  // `view()` returns what is shown; `jump(ply)` asks the server for a position, and returns whether it is shown.
  constructor(view, jump) {
    Object.assign(this, { view, jump });
    this.wanted = null; // where the slider stands, while the server is asked for another position
    this.film = null;
    const clicks = {
      first: () => this.goTo(0),
      previous: () => this.goTo((this.wanted ?? view().ply) - 1),
      next: () => this.goTo((this.wanted ?? view().ply) + 1),
      last: () => this.goTo(view().plies),
      autoplay: () => this.play(this.film === null),
    };
    for (const [id, clicked] of Object.entries(clicks)) node(id).addEventListener("click", clicked);
    node("ply").addEventListener("input", () => this.goTo(Number(node("ply").value)));
  }

  get sliding() {
    return this.wanted !== null;
  }

  // Shows the position that a person asks for, which ends the film.
  goTo(ply) {
    this.play(false);
    this.slideTo(Math.max(0, Math.min(ply, this.view().plies)));
  }

  play(on) {
    clearInterval(this.film);
    this.film = null;
    node("autoplay").setAttribute("aria-pressed", String(on));
    if (!on) return;
    if (this.view().ply === this.view().plies) this.slideTo(0);
    this.film = setInterval(async () => {
      await this.slideTo(this.view().ply + 1);
      if (this.view().ply >= this.view().plies) this.play(false);
    }, INTERVAL);
  }

  async slideTo(ply) {
    const busy = this.sliding;
    this.wanted = ply;
    node("ply").value = ply;
    if (busy) return;
    while (this.wanted !== this.view().ply && (await this.jump(this.wanted))) {
      // the slider may have moved on meanwhile
    }
    this.wanted = null;
    node("ply").value = this.view().ply;
  }
}
