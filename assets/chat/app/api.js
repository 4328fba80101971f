// HTTP requests: sign-in, session list, Markdown.

/** An error response of the server; status 0 if it cannot be reached. */
export class ApiError extends Error {
  constructor(status, message, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Time in which the server says whether the browser is signed in, in milliseconds. A server that hangs does not. */
const STATUS_TIMEOUT = 3000;

/** Where the secret of the sign-in is stored: per origin, so servers on other ports cannot read it. */
const SECRET = "osier-secret";

export function signInSecret() {
  return localStorage.getItem(SECRET) ?? "";
}

async function login(token) {
  const { secret } = await request("POST", "/api/login", { token });
  localStorage.setItem(SECRET, secret);
}

async function request(method, path, body, timeout) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal: timeout && AbortSignal.timeout(timeout),
      credentials: "same-origin",
      cache: "no-store",
      headers: {
        "osier-secret": signInSecret(),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "Cannot reach the server.", "offline");
  }
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    // The response of a proxy in between: the status is enough.
  }
  if (!response.ok) {
    const error = value?.error;
    const message = typeof error === "string" ? error : error?.message;
    throw new ApiError(
      response.status,
      message ?? value?.message ?? `The server answered ${response.status}.`,
      value?.code ?? error?.code,
    );
  }
  return value;
}

const at = (id) => `/api/sessions/${encodeURIComponent(id)}`;

export const api = {
  login,
  status: () => request("GET", "/api/status", undefined, STATUS_TIMEOUT),
  sessions: () => request("GET", "/api/sessions"),
  openSession: (options = {}) => request("POST", "/api/sessions", options),
  closeSession: (id) => request("DELETE", at(id)),
  markdown: (texts) => request("POST", "/api/markdown", { texts }),
};
