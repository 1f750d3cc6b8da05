import { jsonObject } from "../../domain/validation/json.ts";
import { beginningOf } from "../../runtime/files.ts";

/*
 * Requests that checks send to a server. Any program may answer them.
 */

const timeoutMs = 5_000;
const longestAnswer = 256 * 1024;

/** Whether a host, with or without the brackets of a URL, is a loopback address or the wildcard address. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|\[?::1?\]?|0\.0\.0\.0)$/i.test(host);
}

/** The answer of a server. */
export interface ServerAnswer {
  readonly status: number;
  readonly body: string;
  /** The time in the `Date` header; null when the answer has none. */
  readonly at: number | null;
}

/** A client certificate for an admin listener that requires one. Both fields are PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly certificate?: ClientCertificate | null;
}

/**
 * Requests a URL of a server, with a time limit and without following redirects. Without an answer, returns the reason
 * as a string.
 */
export async function ask(
  url: string,
  { headers = {}, certificate = null }: AskOptions = {},
): Promise<ServerAnswer | string> {
  const isHere = isLoopback(new URL(url).hostname);
  try {
    const response = await fetch(url, {
      headers,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      // Requests to this machine bypass the proxy of the environment.
      ...(isHere && { proxy: false }),
      // A certificate names a host, not this loopback address; it is verified only when the request carries a key.
      tls: {
        ...(certificate && { cert: certificate.cert, key: certificate.key }),
        ...(isHere && Object.keys(headers).length === 0 && { rejectUnauthorized: false }),
      },
    });
    const body = (await beginningOf(response.body, longestAnswer)).toString();
    const date = Date.parse(response.headers.get("date") ?? "");
    return { status: response.status, body, at: Number.isNaN(date) ? null : date };
  } catch (error) {
    const { name, code } = error as { name?: string; code?: string };
    return name === "TimeoutError" ? `no answer within ${timeoutMs / 1000} s` : String(code ?? name);
  }
}

/** Returns a field of a JSON answer; undefined when absent. */
export function fieldOf(answer: ServerAnswer, name: string): unknown {
  return jsonObject(answer.body)?.[name];
}
