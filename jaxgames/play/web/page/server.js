// Requests to the server of this page, and the stream of its events.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export const dark = matchMedia("(prefers-color-scheme: dark)");
export const theme = () => (dark.matches ? "dark" : "light");

let token = document.querySelector("meta[name=token]").content;

async function request(path, options = {}) {
  const headers = { "x-jaxgames-token": token, ...options.headers };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer.");
  }
  if (response.ok) return response;
  let message = `The server replied with status ${response.status}.`;
  try {
    message = (await response.json()).error ?? message;
  } catch {
    // a reply without JSON has no reason in it; its status is enough
  }
  throw new Refused(response.status, message);
}

export async function get(path) {
  return (await request(path)).json();
}

export async function text(path) {
  return (await request(path)).text();
}

export async function post(verb, body, signal) {
  const content = JSON.stringify({ ...body });
  const headers = { "content-type": "application/json" };
  return (await request(`/api/${verb}`, { method: "POST", body: content, headers, signal })).json();
}

// Gives a text to the person as a file.
export function download(content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Calls `show` with every event of a game until the stream ends; throws Refused where the server refuses or is gone.
// `look` is how the page wants to see it.
export async function follow(id, look, show, signal) {
  const response = await request(`/api/events?${new URLSearchParams({ id, ...look })}`, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused(0, "The server does not answer.");
    }
    if (part.done) throw new Refused(signal.aborted ? 404 : 0, "The server has ended the game.");
    const events = (buffer + part.value).split("\n\n");
    buffer = events.pop();
    for (const event of events) if (event.startsWith("data: ")) show(JSON.parse(event.slice(6)));
  }
}

// Waits until a server answers at this address again, and takes over its token.
export async function untilBack() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 700));
    try {
      const page = new DOMParser().parseFromString(await text("/"), "text/html");
      token = page.querySelector("meta[name=token]").content;
      return;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }
}
