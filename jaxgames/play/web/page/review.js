// The review after a game: the moves that lost most, each with the move that was better.

import { percent } from "./game.js";
import { chip, made } from "./panels.js";

const node = (id) => document.getElementById(id);

export function hideReview() {
  node("mistakes").hidden = true;
}

// Shows the mistakes of a game; `jump(ply)` is called for the position before one of them.
export function showReview({ mistakes }, view, jump) {
  node("mistakes-list").replaceChildren(...mistakes.map((mistake) => mistakeItem(mistake, view, jump)));
  node("mistakes-words").textContent = mistakes.length
    ? "The moves that cost most, as the strongest computer player of this game sees it. Choose one to see its position."
    : "The strongest computer player of this game found no mistake.";
  node("mistakes").hidden = false;
  node("mistakes").scrollIntoView({ block: "nearest" });
}

function mistakeItem({ ply, seat, move, best, loss }, view, jump) {
  const item = made("li");
  const { name, words, colour } = view.seats[seat];
  const button = made("button", "", `${words === "You" ? "You" : name} played ${move}. Better: ${best} (−${percent(loss)} % chance to win)`);
  button.type = "button";
  button.addEventListener("click", () => jump(ply));
  item.append(chip(colour), button);
  return item;
}
