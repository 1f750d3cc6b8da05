import { adminKey, type TestServer } from "../server.ts";

/** A request, in the words of the server on SQLite. */
export interface Call {
  readonly method: string;
  /** With its query. What begins with `/admin` goes to the admin listener, with the operator key. */
  readonly path: string;
  readonly token?: string | undefined;
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
  { method, path, token, body, headers }: Call,
): Promise<Answered> {
  const isAdmin = path.startsWith("/admin");
  const bearer = isAdmin ? adminKey : token;
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
  const text = await answer.text();
  const isJson = answer.headers.get("content-type") === "application/json";
  return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : {} };
}

/** Durations. */
const measured = /("\w+_ms":)(?:null|[\d.]+)/g;

/** How far a replay has come by the numbers of deliveries, which have gaps on PostgreSQL. */
const ahead = /("state":"running"[^{}]*"progress":)[\d.]+/g;

/** Frequent changes are counted, and stored every second of real time and at the end. */
const countedChanges = /"last_at":"[^"]*","count":\d+/g;

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
  const known = text.replace(measured, "$1…").replace(ahead, "$1…").replace(tokenRows, sortedRows);
  const body = isCounted ? known.replace(countedChanges, "…") : known;
  return `${status} ${JSON.stringify(Object.fromEntries(compared))}\n${body}`;
}
