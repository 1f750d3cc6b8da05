import { publicKeyForms } from "../../delivery/signature.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { jsonObject } from "../../domain/validation/json.ts";
import { beginningOf } from "../../runtime/files.ts";
import type { Config } from "../../server/settings/config.ts";

const timeoutMs = 5_000;
const longestAnswer = 256 * 1024;

/** Whether a host, with or without the brackets of a URL, is a loopback address or the wildcard address. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|\[?::1?\]?|0\.0\.0\.0)$/i.test(host);
}

/** The answer of a server. */
interface ServerAnswer {
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
 * Requests a URL of a server, with a time limit and without following redirects. Returns the reason, as a string, when
 * there is no answer.
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
function fieldOf(answer: ServerAnswer, name: string): unknown {
  return jsonObject(answer.body)?.[name];
}

/** Checks `/healthz` and `/readyz` of an admin listener. */
export async function* healthFindings(
  adminUrl: string,
  { now, certificate }: { readonly now: () => number; readonly certificate: ClientCertificate | null },
): AsyncGenerator<Finding> {
  const { ok, warning, wrong } = findingsOf("server");
  const healthy = await ask(`${adminUrl}/healthz`, { certificate });
  if (typeof healthy === "string")
    return yield wrong(
      `${adminUrl}/healthz cannot be reached (${healthy})`,
      `check that the server runs, and name its admin listener with its own --admin-host and --admin-port, or with --url${adminUrl.startsWith("https:") && certificate === null ? "; if it requires a client certificate, give --client-cert and --client-key" : ""}`,
    );
  if (healthy.status !== 200 || fieldOf(healthy, "status") !== "ok")
    return yield wrong(
      `${adminUrl}/healthz answers ${healthy.status}, unlike On Air`,
      "another program uses that port: give the address of the admin listener",
    );
  const ready = await ask(`${adminUrl}/readyz`, { certificate });
  const isReady = typeof ready !== "string" && ready.status === 200;
  const said = typeof ready === "string" ? ready : (fieldOf(ready, "message") ?? ready.status);
  yield isReady
    ? ok(`the server at ${adminUrl} is healthy and ready`)
    : wrong(
        `the server at ${adminUrl} is healthy, but not ready (${said})`,
        "see its log; if it is starting or stopping, check again later",
      );
  const aheadMs = healthy.at === null ? 0 : healthy.at - now();
  if (Math.abs(aheadMs) > clockToleranceMs)
    yield warning(
      `its clock and the clock of this machine differ by ${Math.round(Math.abs(aheadMs) / 1000)} s`,
      "set both clocks: receivers refuse webhooks whose timestamp is 5 minutes off",
    );
}

const clockToleranceMs = 30_000;

/** Requests the server's own findings from its admin API, with the operator key. */
export async function* remoteFindings(
  adminUrl: string,
  adminKey: string,
  certificate: ClientCertificate | null,
): AsyncGenerator<Finding> {
  const key = findingsOf("operator_key");
  const { skipped } = findingsOf("findings");
  const asked = await ask(`${adminUrl}/admin/v1/findings`, {
    headers: { authorization: `Bearer ${adminKey}` },
    certificate,
  });
  if (typeof asked === "string")
    return yield skipped(`the server's own findings were not received (${asked})`);
  if (asked.status === 401)
    return yield key.wrong(
      `${adminUrl} refuses the operator key`,
      "set ONAIR_ADMIN_KEY to an operator key of that server",
    );
  if (asked.status !== 200)
    return yield skipped(`the server's own findings were not received (status ${asked.status})`);
  yield key.ok("the server accepts it");
  yield* (fieldOf(asked, "data") ?? []) as Finding[];
}

/**
 * Checks that the server at the public address or public URL has this signing key.
 * @param signingKey in PEM; null to accept any
 */
export async function publicFinding(check: string, url: string, signingKey: string | null): Promise<Finding> {
  const { ok, wrong } = findingsOf(check);
  const answer = await ask(`${url}/public/v1/public-key`);
  if (typeof answer === "string")
    return wrong(`${url} cannot be reached (${answer})`, "check --host, --port and the proxy in front");
  if (answer.status === 429) return ok(`a server answers at ${url}; its rate limit is reached for now (429)`);
  if (answer.status !== 200)
    return wrong(
      `${url} answers ${answer.status} for the public key, unlike On Air`,
      "another program uses that address: check --host, --port and --public-url",
    );
  if (signingKey !== null && !isOwnKey(answer, signingKey))
    return wrong(
      `the server at ${url} has another signing key: it serves other data`,
      "name its data directory with --data",
    );
  return ok(`the server answers at ${url}`);
}

function isOwnKey(answer: ServerAnswer, signingKey: string): boolean {
  let pem: string;
  try {
    ({ pem } = publicKeyForms(signingKey));
  } catch {
    return true; // another check reports an invalid key
  }
  return answer.body.includes(JSON.stringify(pem));
}

/** Checks, by listening briefly, that a server could use the addresses of the settings. */
export function portFindings({ host, port, adminHost, adminPort }: Config): Finding[] {
  return [portFinding("public_port", host, port), portFinding("admin_port", adminHost, adminPort)];
}

const reasons: Readonly<Record<string, readonly [what: string, advice: string]>> = {
  EADDRINUSE: ["another program uses it", "stop that program, or choose another port"],
  EADDRNOTAVAIL: ["this machine does not have this address", "choose an address of this machine"],
  EACCES: ["this user may not listen on it", "choose a port above 1023"],
};

function portFinding(check: string, hostname: string, port: number): Finding {
  const { ok, wrong } = findingsOf(check);
  if (port === 0) return ok(`${hostname}: any free port`);
  const address = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  try {
    // Bun's types lack `reusePort` here. With its default (true), a port in use may look free.
    const options = { hostname, port, reusePort: false, socket: { data() {} } };
    Bun.listen(options).stop(true);
    return ok(`${address} is free`);
  } catch (error) {
    const { code = "" } = error as { code?: string };
    const [what, advice] = reasons[code] ?? [`listening fails (${code})`, "choose another address"];
    return wrong(`${address}: ${what}`, advice);
  }
}
