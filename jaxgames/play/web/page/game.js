// The game that the page has: what follows from a view, without the document and without the server.

// Returns the view with all its submoves in `moves`; null if those that the page has are not the ones before the new.
export function joined(before, next) {
  const own = before !== null && before.table === next.table ? before.moves : [];
  const { begin, after, moves } = next.history;
  if (begin > 0 && own[begin - 1]?.serial !== after) return null;
  return { ...next, moves: [...own.slice(0, begin), ...moves] };
}

// Returns the number of the last submove that the page has, 0 for none.
export const lastSerial = (view) => view.moves.at(-1)?.serial ?? 0;

// Returns the game as the file that the server loads.
export const savedGame = (view) => JSON.stringify({ ...view.saved, moves: view.moves.map((move) => move.text) });

export const personMoves = (view) => !view.over && view.seats[view.mover].player === "human";

// Returns the capture with which a person's turn must go on, if there is only one; else null.
export function forcedCapture(view) {
  const goesOn = personMoves(view) && view.ply > 0 && view.moves[view.ply - 1].seat === view.mover;
  const [move] = view.legal;
  return goesOn && view.legal.length === 1 && move.kind === "capture" ? move : null;
}

// Returns the seat of the person who resigns: the next one to move. Null if the game is over or no person plays.
export function resigningSeat(view) {
  const order = view.seats.map((_, index) => (view.mover + index) % view.seats.length);
  const seat = order.find((index) => view.seats[index].player === "human");
  return view.over || seat === undefined ? null : seat;
}
