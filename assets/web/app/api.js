// The plain requests beside the WebSocket: signing in, the list of sessions, Markdown.

/** What the server says no with. */
export class Refused extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      credentials: "same-origin",
      cache: "no-store",
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, "The server cannot be reached.", "offline");
  }
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    // An answer of something that stands between: its status says enough.
  }
  if (!response.ok) {
    const fault = value?.error;
    const message = typeof fault === "string" ? fault : fault?.message;
    throw new Refused(
      response.status,
      message ?? value?.message ?? `The server answered ${response.status}.`,
      value?.code ?? fault?.code,
    );
  }
  return value;
}

const at = (id) => `/api/sessions/${encodeURIComponent(id)}`;

export const api = {
  login: (token) => request("POST", "/api/login", { token }),
  status: () => request("GET", "/api/status"),
  sessions: () => request("GET", "/api/sessions"),
  openSession: (wishes = {}) => request("POST", "/api/sessions", wishes),
  closeSession: (id) => request("DELETE", at(id)),
  markdown: (texts) => request("POST", "/api/markdown", { texts }),
};
