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
    ? "As the strongest computer player of this game sees it. Choose one to see its position: the move that was played in red, the better one in green."
    : "The strongest computer player of this game found no mistake.";
  node("mistakes").hidden = false;
  node("mistakes").scrollIntoView({ block: "nearest" });
}

function mistakeItem(mistake, view, choose) {
  const { seat, move, best, loss } = mistake;
  const item = made("li");
  const { name, words, colour } = view.seats[seat];
  const button = made("button", "", `${words === "You" ? "You" : name} played ${move}, which lost ${percent(loss)} % of the chance to win. Better: ${best}`);
  button.type = "button";
  button.addEventListener("click", () => {
    choose(mistake);
    node("status").scrollIntoView(); // on a phone, it and the board are far above
  });
  item.append(chip(colour), button);
  return item;
}
