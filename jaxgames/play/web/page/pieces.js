// The pieces in the picture of the board: found by their places on the screen, and moved there before the server has
// replied. The next picture of the server has them where they belong.

const SLIDE = 160; // milliseconds in which a piece of another player reaches its target
const still = matchMedia("(prefers-reduced-motion: reduce)");

// Returns the middle of an element on the screen.
export function middle(element) {
  const box = element.getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

// Returns the piece in a picture within `reach` pixels around a point of the screen, null if there is none.
export function pieceAt(picture, { x, y }, reach) {
  let best = null;
  let least = reach;
  for (const piece of picture.querySelectorAll("use:not([href$='-background'])")) {
    const { e, f } = piece.getScreenCTM();
    const distance = Math.hypot(e - x, f - y);
    if (distance < least) [best, least] = [piece, distance];
  }
  return best;
}

// Draws a piece `dx` and `dy` pixels of the screen away from its place.
export function shift(piece, dx, dy) {
  piece.dataset.place ??= piece.getAttribute("transform");
  const { a, b, c, d } = piece.parentNode.getScreenCTM();
  const scale = a * d - b * c;
  const [x, y] = [(d * dx - c * dy) / scale, (a * dy - b * dx) / scale];
  piece.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)}) ${piece.dataset.place}`);
}

// Draws a piece above all others.
export const raise = (piece) => piece.parentNode.append(piece);

// Lets the piece at `to` slide there from `from`, two points of the screen.
export function slide(picture, from, to, reach) {
  const piece = still.matches ? null : pieceAt(picture, to, reach);
  if (piece === null) return;
  const begin = performance.now();
  const frame = (now) => {
    const left = Math.max(0, 1 - (now - begin) / SLIDE);
    shift(piece, left * (from.x - to.x), left * (from.y - to.y));
    if (left > 0 && piece.isConnected) requestAnimationFrame(frame);
  };
  frame(begin);
}
