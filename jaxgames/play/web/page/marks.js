// What is drawn over the picture of the board: the last turns of the seats, the best move of a hint, and a mistake with
// the move that was better. Each function returns elements for the layer `trails`.

const layer = document.getElementById("trails");
const HEAD = 11; // length of the head of an arrow, in the units of the picture
const RING = 9; // radius of the mark of a move without a source, such as a line of Dots and Boxes

function shape(tag, attributes) {
  const element = document.createElementNS(layer.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// Returns the path of a seat's last turn, with a dot where it began.
export function trailOf({ points }, colour) {
  const line = points.map((point) => point.join(",")).join(" ");
  const [[cx, cy]] = points;
  return [
    shape("polyline", { points: line, class: "casing" }),
    shape("polyline", { points: line, class: "trail", stroke: colour }),
    shape("circle", { cx, cy, r: 4, fill: colour }),
  ];
}

// Returns an arrow from the source of a move to its target, or a ring where the move has no source. `kind` is "best" or
// "mistake", `cells` are those of the view.
export function markOf(move, kind, cells) {
  const [from, to] = [move.source, move.target].map((name) => cells.find((cell) => cell.name === name));
  if (to === undefined) return [];
  const d = from === undefined ? ring(to) : arrow(from, to);
  return [shape("path", { d, class: "mark casing" }), shape("path", { d, class: `mark ${kind}` })];
}

const ring = ({ x, y }) => `M${x - RING} ${y}a${RING} ${RING} 0 1 0 ${2 * RING} 0a${RING} ${RING} 0 1 0 ${-2 * RING} 0`;

function arrow(from, to) {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const legs = [-0.5, 0.5].map((turn) => `M${to.x} ${to.y}L${to.x - HEAD * Math.cos(angle + turn)} ${to.y - HEAD * Math.sin(angle + turn)}`);
  return `M${from.x} ${from.y}L${to.x} ${to.y}${legs.join("")}`;
}
