// Pieces that are dragged with the mouse, a finger or a pen.

import { middle, pieceAt, raise, shift } from "./pieces.js";

const THRESHOLD = 6; // pixels that a pointer moves before a press is a drag

export class Drag {
  // `board` has the legal moves; `cells` is the element in which the pointer moves.
  constructor(board, cells) {
    this.board = board;
    this.cells = cells;
    this.drag = null;
    this.ended = false; // whether the press that ended last was a drag, so its click means nothing
    cells.addEventListener("pointerdown", (event) => this.pressed(event));
    cells.addEventListener("pointermove", (event) => this.moved(event));
    cells.addEventListener("pointerup", (event) => this.released(event));
    cells.addEventListener("pointercancel", (event) => this.cancelled(event));
  }

  pressed(event) {
    this.ended = false;
    if (event.button !== 0 || this.drag !== null) return;
    const name = this.board.nearest(event);
    if (!this.board.sources().has(name)) return;
    this.drag = { name, id: event.pointerId, x: event.clientX, y: event.clientY, piece: null };
  }

  moved(event) {
    const { drag, board } = this;
    if (drag?.id !== event.pointerId) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (drag.piece === null) {
      if (Math.hypot(dx, dy) < THRESHOLD) return;
      if (!board.sources().has(drag.name)) {
        this.drag = null; // another move has been played meanwhile
        return;
      }
      const cell = board.buttons.get(drag.name);
      drag.piece = pieceAt(board.picture, middle(cell), cell.clientWidth);
      if (drag.piece === null) {
        this.drag = null;
        return;
      }
      this.cells.setPointerCapture(event.pointerId);
      raise(drag.piece);
      if (board.selected !== drag.name) board.select(drag.name);
    }
    if (drag.piece.isConnected) shift(drag.piece, dx, dy);
    else this.drag = null; // the picture has changed meanwhile
  }

  released(event) {
    const { drag, board } = this;
    if (drag?.id !== event.pointerId) return;
    this.drag = null;
    if (drag.piece === null) return;
    this.ended = true;
    if (!drag.piece.isConnected) return;
    const name = board.nearest(event);
    shift(drag.piece, 0, 0);
    if (board.selected === drag.name && board.targets().has(name)) board.choose(name);
  }

  cancelled(event) {
    if (this.drag?.id !== event.pointerId) return;
    if (this.drag.piece?.isConnected) shift(this.drag.piece, 0, 0);
    this.drag = null;
  }
}
