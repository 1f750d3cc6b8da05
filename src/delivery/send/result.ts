import { blockedAddressCode } from "./address.ts";

/**
 * The outcomes of an attempt, by the stage in which it ended.
 *
 * - `ok`: a 2xx. `status`: any other final status.
 * - `dns`: the name did not resolve. `blocked`: the URL or its address may not be called (see address.ts).
 * - `refused`, `unreachable`: no connection. `tls`: no trusted TLS connection.
 * - `proxy`: the operator's egress proxy failed, which says nothing about the receiver.
 * - `reset`: the connection broke before a status. `timeout`: no status in time.
 * - `protocol`: the answer was not HTTP. `too_large`: its headers were too long.
 * - `canceled`: this process canceled the attempt. `internal`: this process failed to make it.
 */
export const outcomeClasses = [
  "ok",
  "status",
  "dns",
  "blocked",
  "refused",
  "unreachable",
  "tls",
  "proxy",
  "reset",
  "timeout",
  "protocol",
  "too_large",
  "canceled",
  "internal",
] as const;
export type OutcomeClass = (typeof outcomeClasses)[number];

/** Header names and values in the order of the response, names in lower case. */
export type ResponseHeaders = readonly (readonly [name: string, value: string])[];

/** The duration of each stage in milliseconds; null for a stage that was skipped or not completed. */
export interface Timings {
  readonly dnsMs: number | null;
  /** With an egress proxy: connecting to it, and its connecting to the receiver. */
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /** From the open connection to the status. */
  readonly firstByteMs: number | null;
}

/** A completed stage of an attempt: one of its timings, or writing the request. */
export type PassedStage = keyof Timings | "sent";

export interface SendResult {
  readonly class: OutcomeClass;
  /** The HTTP status; null when none arrived. Set for the classes `ok` and `status` only. */
  readonly status: number | null;
  /** The wait that `Retry-After` asks for; null when it was absent or unreadable. */
  readonly retryAfterMs: number | null;
  /** From the call of `send` to the end, in whole milliseconds. */
  readonly durationMs: number;
  /** The beginning of the answer's body, decoded as UTF-8, with NUL replaced; "" if there was none. */
  readonly responseBody: string;
  /** The reason for the failure in one sentence for the endpoint's owner; null for a success. */
  readonly error: string | null;
  /** The scheme that the receiver expects, if it is certain and differs from the URL. */
  readonly speaks?: "http" | "https";
  /** The answer's headers; absent unless the sender keeps them. */
  readonly headers?: ResponseHeaders;
  readonly timings: Timings;
  /** Whether the request was sent twice, because a reused connection had been closed by the receiver. */
  readonly repeated: boolean;
}

export const noTimings: Timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

/** The part of a result that depends on the status or on its absence. */
export type SendOutcome = Pick<SendResult, "class" | "status" | "retryAfterMs" | "error">;

/** The outcome of an attempt without a status. */
export function unanswered(failure: SendFailure): SendOutcome {
  return { ...failure, status: null, retryAfterMs: null };
}

/** The result of an attempt that made no request. */
export function unsent(failure: SendFailure): SendResult {
  return { ...unanswered(failure), durationMs: 0, responseBody: "", timings: noTimings, repeated: false };
}

/** The current stage of an attempt, as the end of a sentence with "while". */
export type SendStage =
  | "resolving the host name"
  | "connecting"
  | "connecting to the egress proxy"
  | "waiting for the egress proxy"
  | "agreeing on encryption"
  | "waiting for the answer";

/** The reason why an attempt got no status. */
export interface SendFailure {
  readonly class: OutcomeClass;
  /**
   * One sentence for the owner of the endpoint. It contains no address, because addresses in the operator's network are
   * confidential.
   */
  readonly error: string;
  /** The scheme that the receiver expects, if it is certain and differs from the URL. */
  readonly speaks?: "http" | "https";
}

const resolverCodes = new Set([
  "ENOTFOUND",
  "ENODATA",
  "ENONAME",
  "ESERVFAIL",
  "EREFUSED",
  "EFORMERR",
  "ENOTIMP",
  "EBADNAME",
  "EBADRESP",
  "ETIMEOUT",
]);

const unreachableCodes = new Set([
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
  "ENETDOWN",
  "ETIMEDOUT",
  "EACCES",
  "EPERM",
]);

const resetCodes = new Set(["ECONNRESET", "ECONNABORTED", "EPIPE", "ERR_SOCKET_CLOSED"]);

/** Error codes of the TLS layer, and of the certificate check (X509_V_ERR_… without its prefix). */
const tlsCode =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_|INVALID_|PATH_LENGTH_|HOSTNAME_|EPROTO)/;

/** Error codes of the TLS layer for a response that is not TLS, most likely an HTTP server's error. */
const noTlsCodes = new Set([
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_SSL_HTTP_REQUEST",
  "ERR_SSL_HTTPS_PROXY_REQUEST",
]);

/** Classifies the error of a request that failed in `stage`, before a status. */
export function failureOf(error: unknown, stage: SendStage): SendFailure {
  const { code, syscall } = describe(error);

  if (stage === "connecting to the egress proxy") {
    return { class: "proxy", error: `The egress proxy could not be reached (${code}).` };
  }
  if (stage === "waiting for the egress proxy") {
    return { class: "proxy", error: "The egress proxy closed the connection." };
  }
  if (code === blockedAddressCode) {
    return { class: "blocked", error: "The host name resolves to an address that is not public." };
  }
  if (syscall === "getaddrinfo" || code.startsWith("EAI_") || resolverCodes.has(code)) {
    return { class: "dns", error: `The host name could not be resolved (${code}).` };
  }
  if (code === "ECONNREFUSED") return { class: "refused", error: "The connection was refused." };
  if (unreachableCodes.has(code))
    return { class: "unreachable", error: `No connection could be made (${code}).` };
  if (resetCodes.has(code)) return { class: "reset", error: `The connection was closed while ${stage}.` };
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return { class: "tls", error: "The certificate is not valid for this host name." };
  }
  if (noTlsCodes.has(code))
    return { class: "tls", error: `The receiver does not speak TLS there (${code}).`, speaks: "http" };
  if (tlsCode.test(code))
    return { class: "tls", error: `No trusted TLS connection could be made (${code}).` };
  return { class: "internal", error: `The request could not be made (${code}).` };
}

/** The failure of an attempt that reached its time limit in `stage`. */
export function timedOut(timeoutMs: number, stage: SendStage): SendFailure {
  const kind = stage === "connecting to the egress proxy" ? "proxy" : "timeout";
  return { class: kind, error: `The time limit of ${timeoutMs / 1_000} s was reached while ${stage}.` };
}

/** An attempt that this process canceled. */
export const canceled: SendFailure = { class: "canceled", error: "The attempt was canceled by the sender." };

/** An answer with too many bytes before the end of its headers. */
export const tooLarge: SendFailure = { class: "too_large", error: "The headers of the answer are too long." };

/** Bytes that are not an HTTP response. */
export const invalidResponse: SendFailure = { class: "protocol", error: "The answer is not valid HTTP." };

/** Bytes that are TLS instead of an HTTP response. */
export const speaksTls: SendFailure = {
  class: "protocol",
  error: "The answer is TLS, not HTTP.",
  speaks: "https",
};

/** An answer with status 101, which no request asks for. */
export const switchedProtocols: SendFailure = {
  class: "protocol",
  error: "The answer switches to another protocol.",
};

/** A request that was not made, because its headers are invalid. */
export const invalidHeaders: SendFailure = {
  class: "internal",
  error: "The request could not be made (its headers are invalid).",
};

/** Statuses of a proxy whose cause is the receiver, not the proxy (RFC 9110, section 15.6). */
const beyondProxy = new Set([502, 503, 504]);

/** The failure of a proxy that did not connect but answered with `status`, or not with HTTP (null). */
export function proxyFailure(status: number | null): SendFailure {
  if (status === null) return { class: "proxy", error: "The egress proxy did not answer with valid HTTP." };
  if (status === 407)
    return { class: "proxy", error: "The egress proxy did not accept the credentials (407)." };
  if (beyondProxy.has(status)) {
    return { class: "unreachable", error: `The egress proxy could make no connection (${status}).` };
  }
  return { class: "proxy", error: `The egress proxy refused the connection (${status}).` };
}

/** The error sentence for a status; null for a 2xx. */
export function statusError(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  const redirect = status >= 300 && status < 400 ? " Redirects are not followed." : "";
  return `The answer was ${status}.${redirect}`;
}

function describe(error: unknown): { code: string; syscall: string } {
  const { code, syscall } = (typeof error === "object" && error !== null ? error : {}) as Record<
    string,
    unknown
  >;
  return {
    code: typeof code === "string" ? code : "unknown",
    syscall: typeof syscall === "string" ? syscall : "",
  };
}

/** The longest `Retry-After` that is honoured. A longer time counts as this. */
export const maxRetryAfterMs = 24 * 3_600_000;

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3): a number of seconds, or an HTTP date in any of the
 * three forms of section 5.6.7.
 *
 * @returns the wait from `now` on, from 0 to {@link maxRetryAfterMs}; null when absent or unreadable
 */
export function parseRetryAfter(value: string | null | undefined, now: number): number | null {
  const text = value?.trim() ?? "";
  const wait = /^[0-9]+$/.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - now;
  if (Number.isNaN(wait)) return null;
  return Math.min(Math.max(wait, 0), maxRetryAfterMs);
}

const time = "[0-9]{2}:[0-9]{2}:[0-9]{2}";
const dated = `, [0-9]{2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} ${time} GMT`;
const asctime = ` [A-Z][a-z]{2} [0-9 ][0-9] ${time} [0-9]{4}`;
const httpDate = new RegExp(`^[A-Z][a-z]{2,8}(${dated}|${asctime})$`);

/** The time of an HTTP date; NaN if it is invalid. */
function parseHttpDate(text: string): number {
  if (!httpDate.test(text)) return Number.NaN;
  return Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
}
