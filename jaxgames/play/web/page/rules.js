// The dialog with the rules of a game, on one screen with pictures.

import { made } from "./panels.js";
import { post, theme } from "./server.js";

const node = (id) => document.getElementById(id);

export async function showRules(game) {
  const rules = await post("rules", { game, theme: theme() });
  node("rules-title").textContent = `How to play ${rules.title}`;
  node("goal").textContent = rules.goal;
  node("rules-text").replaceChildren(...rules.paragraphs.map((text) => made("p", "", text)));
  node("rules-pictures").replaceChildren(...rules.pictures.map(pictureOf));
  node("rules").showModal();
  node("rules-title").focus(); // not the button at the end, to which a long page would scroll
}

function pictureOf({ svg, caption }) {
  const figure = made("figure");
  const image = document.createElement("img");
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  image.alt = "";
  figure.append(image, made("figcaption", "", caption));
  return figure;
}

node("rules-close").addEventListener("click", () => node("rules").close());
