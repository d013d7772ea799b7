// The review after a game: the moves that lost most, each with the move that was better.

import { percent } from "./game.js";
import { chip, made } from "./panels.js";

const node = (id) => document.getElementById(id);

export function hideReview() {
  node("mistakes").hidden = true;
}

// Shows the mistakes of a game; `choose(mistake)` is called to show one of them.
export function showReview({ mistakes }, view, choose) {
  node("mistakes-list").replaceChildren(...mistakes.map((mistake) => mistakeItem(mistake, view, choose)));
  node("mistakes-words").textContent = mistakes.length
    ? "As the strongest computer player of this game sees it. Choose one to see its position."
    : "The strongest computer player of this game found no mistake.";
  node("mistakes").hidden = false;
  node("mistakes").scrollIntoView({ block: "nearest" });
}

function mistakeItem(mistake, view, choose) {
  const { seat, move, best, loss } = mistake;
  const item = made("li");
  const { name, words, colour } = view.seats[seat];
  const button = made("button", "", `${words === "You" ? "You" : name} played ${move}. Better: ${best} (−${percent(loss)} % chance to win)`);
  button.type = "button";
  button.addEventListener("click", () => {
    choose(mistake);
    node("board").scrollIntoView({ block: "nearest" }); // on a phone, it is far above
  });
  item.append(chip(colour), button);
  return item;
}
