import { signal } from "@preact/signals";
import createClient from "openapi-fetch";
import type { paths as PublicPaths } from "../client/api.d.ts";
import type { paths as AdminPaths } from "./generated/admin.d.ts";

/*
 * The client of the APIs for the pages: calls and types of the OpenAPI documents, with the session's cookie.
 */

/** The path of the page from outside, like `/portal`; "" for the root. */
export const base = document.documentElement.dataset["base"] ?? "";
/** The prefix of the API's paths. */
const root = base.slice(0, Math.max(0, base.lastIndexOf("/")));

/** The header of requests of the page; the server ignores the cookie without it. The value is the scheme of the URL. */
export const pageHeaders = { "onair-page": location.protocol.slice(0, -1) };

/** Whether the last request reached the server. */
export const isConnected = signal(true);
/** Increases when the server is reachable again and the event stream is open. All shown data is then reloaded. */
export const reconnects = signal(0);
/** Whether the session has ended while the page was open. */
export const hasExpired = signal(false);

/** Notifies other tabs, which use the same cookie, that the session of the cookie has `begun` or `ended`. */
export const otherTabs = new BroadcastChannel(`onair-session${base}`);

/** The error of a request that was refused, or did not reach the server. */
export class Fault extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    /** The problems of single fields, by the name of the field. */
    readonly fields: Readonly<Record<string, string>> = {},
    readonly requestId = "",
  ) {
    super(message);
  }
}

async function observed(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    isConnected.value = true;
    if (response.status !== 401 || request.url.endsWith("/session")) return response;
  } catch (error) {
    if (request.signal.aborted) throw error;
    if (isConnected.value) setTimeout(tryAgain, againMs);
    isConnected.value = false;
    throw new Fault("The server cannot be reached.", "unreachable", 0);
  }
  hasExpired.value = true;
  throw new Fault("Your session has expired, so nothing was changed. Try again.", "expired", 401);
}

const againMs = 750;

/** Polls until the server is reachable again. */
async function tryAgain(): Promise<void> {
  if (isConnected.value) return;
  const request = new Request(`${location.origin}${base}/session`, { headers: pageHeaders });
  await observed(request).catch(() => setTimeout(tryAgain, againMs));
}

const options = { baseUrl: location.origin + root, headers: pageHeaders, fetch: observed };
export const admin = createClient<AdminPaths>(options);
export const api = createClient<PublicPaths>(options);

interface Answered<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/** Returns the body of an answer; throws a `Fault` when the call was refused. */
export async function done<T>(call: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  throw faultOf(error, response.status);
}

/** Returns the `data` of an answer. Throws a `Fault` when the call was refused. */
export async function dataOf<T extends { readonly data: unknown }>(
  call: Promise<Answered<T>>,
): Promise<T["data"]> {
  return (await done(call)).data;
}

interface ErrorBody {
  readonly message?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

function faultOf(body: unknown, status: number): Fault {
  const {
    message,
    code,
    errors = [],
    request_id,
  } = (typeof body === "object" && body ? body : {}) as ErrorBody;
  const fields = Object.fromEntries(errors.map(({ field, message }) => [field, message]));
  return new Fault(
    message ?? `The server answered ${status}.`,
    code ?? "unknown",
    status,
    fields,
    request_id,
  );
}

/** Returns the part of a request with this body as JSON. */
export const asJson = (body: object): RequestInit => ({
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

/** Sends a request outside of the documented APIs, by default about the page's session. */
export async function session<T>(method: string, init: RequestInit = {}, name = "session"): Promise<T> {
  const headers = { ...pageHeaders, ...init.headers };
  const response = await observed(
    new Request(`${location.origin}${base}/${name}`, { ...init, method, headers }),
  );
  const body: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw faultOf(body, response.status);
  return body as T;
}

/** Whether the server was upgraded since the page was loaded, and does not serve the page's scripts. */
export async function isUpgraded(): Promise<boolean> {
  const script = document.querySelector<HTMLScriptElement>("script[src]")?.src ?? "";
  const answer = await fetch(script, { cache: "no-cache" }).catch(() => null);
  return answer?.status === 404;
}

/** Opens an event stream of the API, by POST with a `body`. Throws a `Fault` when the request is refused. */
export async function openStream(
  path: string,
  signal: AbortSignal,
  body?: object,
): Promise<ReadableStream<Uint8Array>> {
  const posted = body && { method: "POST", ...asJson(body) };
  const headers = { ...pageHeaders, ...posted?.headers };
  const response = await observed(new Request(location.origin + root + path, { ...posted, headers, signal }));
  if (response.ok && response.body) return response.body;
  throw faultOf(await response.json().catch(() => null), response.status);
}

/** The members that have a value. */
type NonEmpty<T> = { [Name in keyof T]?: Exclude<T[Name], undefined | null | ""> };

/** Returns parameters without those that are undefined, null or the empty text. */
export function nonEmpty<T extends object>(parameters: T): NonEmpty<T> {
  const pairs = Object.entries(parameters).filter(([, value]) => (value ?? "") !== "");
  return Object.fromEntries(pairs) as NonEmpty<T>;
}

/** Converts a thrown value into a `Fault`. */
export function asFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  return new Fault(error instanceof Error ? error.message : String(error), "unknown", 0);
}
