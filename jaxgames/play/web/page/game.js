// The game that the page has: what follows from a view, without the document and without the server.

export const personMoves = (view) => !view.over && !isConsidered(view) && view.seats[view.mover].player === "human";

// Returns the seats that people play.
export const peopleOf = (view) => view.seats.flatMap((seat, index) => (seat.player === "human" ? [index] : []));

// Whether all people offer a draw, so the agents are asked.
export const isConsidered = (view) => view.offers.length > 0 && view.offers.length === peopleOf(view).length;

// Returns the turn that the position after `ply` plies ends or is in; undefined at the start.
export const turnAt = (view, ply) => view.turns.find((turn) => turn.ply >= ply && ply > 0);

// Returns the capture with which a person's turn must continue, null if there is none or more than one.
export function forcedCapture(view) {
  const goesOn = personMoves(view) && turnAt(view, view.ply)?.seat === view.mover;
  const [move] = view.legal;
  return goesOn && view.legal.length === 1 && move.kind === "capture" ? move : null;
}

// Returns the seat of the person who resigns: the next one to move. Null if the game is over or no person plays.
export function resigningSeat(view) {
  const order = view.seats.map((_, index) => (view.mover + index) % view.seats.length);
  const seat = order.find((index) => view.seats[index].player === "human");
  return view.over || seat === undefined ? null : seat;
}

// Whether an agent has played the last ply before the position that is shown.
export function playedByAgent(view) {
  const seat = turnAt(view, view.ply)?.seat;
  return seat !== undefined && view.seats[seat].player !== "human";
}

// Returns a share as a number of percent, as people read it.
export const percent = (share) => String(Math.round(100 * share));

// Whether a share is shown: less is noise.
export const isShown = (share) => share >= 0.01;
