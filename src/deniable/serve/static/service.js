// Requests to the service that served this page. Texts travel in bodies, never in addresses.

let token = "";

/** Send this token with every request from now on; it is kept only in memory. */
export function setToken(text) {
  token = text;
}

/** A request that the service refused or could not serve; its message is one line for the user. */
export class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Send a request and return the response.
 * @param {string} path
 * @param {object|null} body sent as JSON; null asks with GET
 * @param {AbortSignal} [signal]
 */
async function request(path, body, signal) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== null) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method: body === null ? "GET" : "POST",
      body: body === null ? undefined : JSON.stringify(body),
      headers,
      signal,
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError("The service does not answer: check that deniable serve is still running.", 0);
  }
  if (!response.ok) throw await readProblem(response);
  return response;
}

async function readProblem(response) {
  let message = `The service answered with status ${response.status}.`;
  try {
    const problem = await response.json();
    message = problem.detail || problem.title || message;
  } catch {
    // The status is all that is known.
  }
  return new ServiceError(message, response.status);
}

/** Return what the service answers to a GET. */
export async function get(path, signal) {
  return (await request(path, null, signal)).json();
}

/** Return what the service answers to a POST. */
export async function post(path, body, signal) {
  return (await request(path, body, signal)).json();
}

/**
 * Send a request for long work, and return its result.
 * @param {(stage: string) => void} report called with the name of each part of the work
 */
export async function postJob(path, body, report, signal) {
  const response = await request(path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let last = null;
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      last = JSON.parse(line);
      if (last.stage) report(last.stage);
    }
  }
  if (last?.result) return last.result;
  if (last?.problem) throw new ServiceError(last.problem.detail, last.problem.status);
  throw new ServiceError("The work ended without a result: try again.", 0);
}

/** Return what a service does whose requests cannot choose. */
export function describeRelease({ mechanism, epsilon }) {
  return `This service always uses ${mechanism} at epsilon ${epsilon}.`;
}
