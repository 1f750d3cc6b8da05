import { OnairError } from "../../client/http.ts";
import { type ErrorCode, withField } from "../../domain/errors.ts";
import { day, minute, second } from "../../domain/time.ts";
import { isLoopback } from "../../operations/checks/requests.ts";
import { printable } from "../../runtime/terminal.ts";
import { note } from "../output/print.ts";

/** The error for a server that gave no answer. */
export class Unreachable extends Error {
  override name = "Unreachable";
  constructor(
    readonly origin: string,
    override readonly cause: unknown,
  ) {
    const hint = origin.startsWith("http:") && isReset(cause) ? ": it may be https and not http" : "";
    super(`${origin} cannot be reached: ${connectionFault(cause)}${hint}`);
  }

  /** Whether an established connection broke off. */
  get isBrokenOff(): boolean {
    return isReset(this.cause);
  }
}

const isReset = (cause: unknown) => cause instanceof Error && "code" in cause && cause.code === "ECONNRESET";

/**
 * Sends a request to an On Air server, for all commands. Follows no redirects. The answer must begin within `withinMs`,
 * by default a minute, unless a stream is sent. Requests to loopback bypass the proxy of the environment, which would
 * see the key or token. Throws `Unreachable`, or the error of the request body's source.
 */
export async function request(
  url: URL | string,
  init: BunFetchRequestInit = {},
  withinMs = minute,
): Promise<Response> {
  const { origin, hostname } = new URL(url);
  const { body } = init;
  const source = { failure: undefined as unknown };
  const late = new AbortController();
  const timer = isStream(body) ? undefined : setTimeout(() => late.abort(), withinMs);
  try {
    return await fetch(url, {
      redirect: "manual",
      timeout: false,
      ...(isLoopback(hostname) && { proxy: false }),
      ...init,
      signal: init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal,
      ...(isStream(body) && { body: recordingErrors(body, source) }),
    });
  } catch (error) {
    if (init.signal?.aborted) throw init.signal.reason;
    const cause = late.signal.aborted ? new DOMException(`${withinMs / second} s`, "TimeoutError") : error;
    throw source.failure ?? new Unreachable(origin, cause);
  } finally {
    clearTimeout(timer);
  }
}

const isStream = (body: unknown): body is AsyncIterable<Uint8Array> =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body && !(body instanceof Blob);

/** Passes the body on. Records an error of the body's source, to distinguish it from a broken connection. */
async function* recordingErrors(
  input: AsyncIterable<Uint8Array>,
  source: { failure: unknown },
): AsyncGenerator<Uint8Array> {
  try {
    yield* input;
  } catch (error) {
    source.failure = error;
    throw error;
  }
}

const firstPauseMs = 20;
const longestPauseMs = 1_000;

/** Calls `refresh` at growing intervals until the operation is no longer in progress. */
export async function poll(isRunning: () => boolean, refresh: () => Promise<void>): Promise<void> {
  for (let pause = firstPauseMs; isRunning(); pause = Math.min(longestPauseMs, pause * 1.5)) {
    await Bun.sleep(pause);
    await refresh();
  }
}

/**
 * Returns a function for requests that are repeated every second. While the server is unreachable or busy, it returns
 * null, with a note the first time. Throws any other error.
 */
export function askingAgain() {
  let isAway = false;
  return async <T>(ask: () => Promise<T>): Promise<T | null> => {
    try {
      const answer = await ask();
      isAway = false;
      return answer;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!isAway) note(`${error.message}; trying again every second`);
      isAway = true;
      return null;
    }
  };
}

function isPassing(error: unknown): error is Error {
  if (error instanceof Unreachable) return true;
  if (!(error instanceof OnairError)) return false;
  // 500 is a fault of the server, such as damaged data: repeating the request does not help.
  return error.status === 429 || error.status >= 502;
}

/** Describes an error in a sentence. Without a known description, returns the message of the system or of Bun. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined) return error.message;
  if (Object.hasOwn(faults, code)) return `The connection broke off: ${faults[code]}`;
  const sentence = syscall === undefined ? undefined : sentences[code];
  if (sentence === undefined) return error.message;
  return path === undefined ? sentence : `${path}: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

const sentences: Readonly<Record<string, string>> = {
  EACCES: "Permission denied for this user; check its owner and mode",
  EPERM: "This user may not do this",
  EBUSY: "Another program uses it",
  EDQUOT: "The disk quota is exceeded",
  EEXIST: "It exists already",
  EFBIG: "The file would be larger than allowed",
  EIO: "The disk failed to read or write",
  EISDIR: "That is a directory",
  ELOOP: "The path has a loop of symbolic links",
  EMFILE: "This process has too many open files (ulimit -n)",
  ENAMETOOLONG: "The name is too long",
  ENFILE: "The system has too many open files",
  ENOENT: "There is no such file or directory",
  ENOSPC: "The disk is full; free some space there, and try again",
  ENOTDIR: "A part of the path is not a directory",
  EROFS: "The file system is read-only",
  ETXTBSY: "Another program runs it",
};

/** Ends the error of a connection that was refused. */
export const isItRunning = " Is the server running?";

const faults: Readonly<Record<string, string>> = {
  ECONNREFUSED: `nothing listens there.${isItRunning}`,
  ConnectionRefused: `nothing listens there.${isItRunning}`,
  ECONNRESET: "the other end closed the connection",
  ConnectionClosed: "the other end closed the connection",
  EHOSTUNREACH: "the network has no route to this address",
  ENETUNREACH: "the network has no route to this address",
  ENOTFOUND: "there is no host with this name",
  EAI_AGAIN: "the name cannot be resolved now; check the network, and try again",
  ETIMEDOUT: "nothing answered in time",
  EPROTO:
    "the TLS handshake failed: the server may use http instead of https, or require a client certificate",
  Malformed_HTTP_Response: "the program that answers there is not an HTTP server",
  InvalidHTTPResponse: "the program that answers there is not an HTTP server",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "its certificate is self-signed; to trust it, set NODE_EXTRA_CA_CERTS to a file with it",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is signed by an unknown authority; set NODE_EXTRA_CA_CERTS to a file with the authority's certificate",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "its certificate is signed by an unknown authority; set NODE_EXTRA_CA_CERTS to a file with the authority's certificate",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its certificate is signed by an unknown authority; set NODE_EXTRA_CA_CERTS to a file with the authority's certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another name",
};

/** Describes why the answer to a request is missing or incomplete. */
export function connectionFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError") return `nothing answered in time (${message})`;
  return (code !== undefined && Object.hasOwn(faults, code) ? faults[code] : code) ?? message;
}

/** Options whose name differs from the API's field. */
const optionNames: Readonly<Record<string, string>> = {
  application_id: "--application",
  subscription_id: "--subscription",
  event_id: "--event",
  scopes: "--scope",
  redirect_uris: "--redirect-uri",
  webhook_headers: "--webhook-header",
  filters: "--filter",
  locked: "--lock",
  owner_user_id: "--owner",
  event: "the event type",
  events: "the event type",
  overlap_seconds: "--overlap",
  broadcaster_user_id: "--broadcaster",
  object_id: "--object-id",
  data: "--set",
  "Last-Event-ID": "--from",
  id: "the id",
};

/** Returns the option for a field of the API: `--rate-limit` for `rate_limit`, `--set content` for `data.content`. */
function optionOf(field: string): string {
  const [, head = field, rest = ""] = /^([A-Za-z_-]+)(.*)$/s.exec(field) ?? [];
  const option = Object.hasOwn(optionNames, head)
    ? optionNames[head]
    : `--${head.toLowerCase().replaceAll("_", "-")}`;
  // The index of a list is left out, because the option of a list is repeated.
  const hasNames = head === "data" || head === "webhook_headers" || head === "filters";
  return hasNames && rest !== "" ? `${option} ${rest.replace(/^\./, "")}` : `${option}`;
}

/** Fields in seconds whose options are durations. */
const durations: ReadonlySet<string> = new Set(["overlap_seconds", "expires_in"]);

/** Rewrites the message for a field to match its option. */
function problemOf(field: string, message: string): string {
  if (durations.has(field)) {
    const range = /an integer from ([0-9]+) to ([0-9]+)( or null)?$/;
    return message.replace(range, (_, least, most) => `from ${least}s to ${(Number(most) * second) / day}d`);
  }
  // Users often give a name in place of the id.
  if (field === "id" && message.startsWith("must be a ULID")) return `${message}; the action list shows it`;
  return message.replace(
    /(later than|days after) ([a-z]+)$/,
    (_, than, other) => `${than} ${optionOf(other)}`,
  );
}

/** Advice for refusals with one usual cause. */
interface Hints {
  /** For a URL that is not that of the listener. */
  readonly wrongListener: string;
  /** For status 401. */
  readonly unauthorized: string;
}

const adminHints: Hints = {
  wrongListener: "--url must name the admin listener.",
  unauthorized: "ONAIR_ADMIN_KEY must hold a valid operator key.",
};

/**
 * Describes an error answer of the admin API in sentences, with options in place of field names.
 * @param origin of the server; null for an app in this process
 */
export function adminRefusal(error: OnairError, origin: string | null): string {
  return sentenceOf(error, origin, adminHints);
}

/** Describes an error answer of the public API in sentences, with options in place of field names. */
export function publicRefusal(error: OnairError, url: string, advice: string): string {
  if (error.code === "stream_disabled") {
    const remedy = 'To change that, run "onair app change --delivery both"';
    return `${url} answered ${error.status}: This application receives events only by webhook. ${remedy}`;
  }
  const hints = { wrongListener: "The URL must be that of the public listener.", unauthorized: advice };
  const sentence = sentenceOf(error, url, hints);
  const { retryAfterMs } = error.details;
  return retryAfterMs === null ? sentence : `${sentence} (Retry-After: ${Math.ceil(retryAfterMs / 1000)})`;
}

function sentenceOf(
  error: OnairError,
  origin: string | null,
  { wrongListener, unauthorized }: Hints,
): string {
  const { status, details } = error;
  const { body, errors } = details;
  // Every error answer of On Air has a message.
  const said = typeof body === "object" && body !== null && "message" in body ? error.message : null;
  const message = aboutLines.has(error.code)
    ? withRefusedLines(error.message, errors)
    : errors.map(({ field, message }) => withField(optionOf(field), problemOf(field, message))).join("\n") ||
      (said ?? foreignAnswer(error));
  if (origin === null) return message;
  const isForeign = said === null && (status === 401 || status === 404);
  const isWrongListener = isForeign || (status === 404 && said === "There is nothing at this path");
  const hint = isWrongListener ? ` ${wrongListener}` : status === 401 ? ` ${unauthorized}` : "";
  const end = hint === "" || message.endsWith(".") ? "" : ".";
  return `${origin} answered ${status}: ${message}${end}${hint}`;
}

/** Errors whose fields are refused lines of a file. */
const aboutLines: ReadonlySet<string> = new Set<ErrorCode>(["empty_snapshot", "confirmation_required"]);

const shownLines = 20;

/** The message of a refused snapshot, with its first refused lines, and with options in place of parameters. */
export function withRefusedLines(
  message: string,
  errors: readonly { readonly field: string; readonly message: string }[],
): string {
  const lines = errors.slice(0, shownLines).map(({ field, message }) => `${field}: ${message}`);
  return [
    message.replace("send it again with confirm=true", "import it again with --confirm"),
    ...lines,
  ].join("\n");
}

/** Describes an answer that does not come from an On Air server. */
function foreignAnswer({ details: { location, body } }: OnairError): string {
  if (location) return `it redirects to ${location}, which is not followed.`;
  const beginning = printable(typeof body === "string" ? body : JSON.stringify(body)).slice(0, 200);
  return /^\s*</.test(beginning) || beginning === "" ? "this is not an answer of On Air." : beginning;
}
