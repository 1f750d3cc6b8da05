import { streamPath } from "../event-stream.ts";
import { adminKey, type TestServer } from "../server.ts";

/** A request, in the words of the server on SQLite. */
export interface Call {
  readonly method: string;
  /** With its query. What begins with `/admin` goes to the admin listener, with the operator key. */
  readonly path: string;
  readonly token?: string | undefined;
  /** In place of the operator key that may do everything. */
  readonly key?: string | undefined;
  readonly body?: string | object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of JSON; else an empty object. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a request to a server. */
export async function answered(
  server: TestServer,
  { method, path, token, key = adminKey, body, headers }: Call,
): Promise<Answered> {
  const isAdmin = path.startsWith("/admin");
  const bearer = isAdmin ? key : token;
  const answer = await fetch((isAdmin ? server.adminUrl : server.publicUrl) + path, {
    method,
    redirect: "manual",
    headers: {
      "x-request-id": "same",
      ...(bearer && { authorization: `Bearer ${bearer}` }),
      ...(typeof body === "object" && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const isEndless = path.startsWith(streamPath) && answer.ok;
  const text = isEndless ? await begun(answer) : await answer.text();
  const isJson = answer.headers.get("content-type") === "application/json";
  return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** A stream that sends nothing for so long has sent all that there is. */
const quietMs = 50;

/** What a stream sends at once. It has no end. */
async function begun({ body }: Response): Promise<string> {
  const reader = (body ?? new Blob().stream()).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const part = await Promise.race([reader.read(), Bun.sleep(quietMs)]);
    if (!part?.value) break;
    text += decoder.decode(part.value, { stream: true });
  }
  await reader.cancel();
  return text;
}

/**
 * Whether an answer may be shorter at times: a stream that is slow, and a list of deliveries, of which SQLite reads for
 * some milliseconds. A difference counts only if it remains when the request is repeated.
 */
export const mayBeCutShort = ({ method, path }: Call) =>
  method === "GET" && (path.startsWith(streamPath) || /\/deliveries(\?|$)/.test(path));

/** Durations. */
const measured = /("\w+_ms":)(?:null|[\d.]+)/g;

/** Signatures, which depend on secrets, and the date in the answer of a receiver. */
const signature = /\b(v1a?),[\w+/=]{40,}/g;
const receivedAt = /"date":"[^"]*"/g;

/** Settings that name the database, and where the server listens. */
const ownSettings =
  /("name":"(?:data|database|database-connections|port|admin-port)","value":)(?:null|"[^"]*")/g;

/** How far a replay has come by the numbers of deliveries, which have gaps on PostgreSQL. */
const ahead = /("state":"running"[^{}]*"progress":)[\d.]+/g;

/**
 * Frequent changes are counted, and stored every second of real time and at the end, with the id of the last request.
 */
const countedChanges = /"last_at":"[^"]*","count":\d+|"request_id":"[^"]*"/g;

/** Shows the state of an endpoint whose retries are sent at once, and may have failed before the answer. */
const isEnabling = (path: string) => path.endsWith("/endpoint/enable");

/** Tokens that end at the same time are in no order. */
const tokenRows = /(?<="data":\[)\{"user_id".*(?=\])/;
const sortedRows = (rows: string) =>
  rows
    .split(/(?<=\}),/)
    .sort()
    .join();

/** What is compared of an answer. `isStored`: all that was counted was stored before. */
export function shown({ status, headers, text }: Answered, { path }: Call, isStored: boolean): string {
  const compared = [...headers].filter(([name]) => !["date", "content-length"].includes(name));
  const isCounted = path.startsWith("/admin/v1/audit") && !isStored;
  const known = text
    .replace(measured, "$1…")
    .replace(signature, "$1…")
    .replace(receivedAt, "…")
    .replace(ownSettings, "$1…")
    .replace(ahead, "$1…")
    .replace(tokenRows, sortedRows);
  const kept = status === 200 && isEnabling(path) ? "" : known;
  const body = isCounted ? kept.replace(countedChanges, "…") : kept;
  return `${status} ${JSON.stringify(Object.fromEntries(compared))}\n${body}`;
}
