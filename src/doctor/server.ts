import type { Config } from "../config/config.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { publicKeyForms } from "../webhooks/signature.ts";
import { ask, type ClientCertificate, fieldOf, type ServerAnswer } from "./ask.ts";

/** Whether the server of an admin listener reports that it is healthy. */
export async function* healthFindings(
  adminUrl: string,
  { now, certificate }: { readonly now: () => number; readonly certificate: ClientCertificate | null },
): AsyncGenerator<Finding> {
  const { ok, warning, wrong } = findingsOf("server");
  const healthy = await ask(`${adminUrl}/healthz`, { certificate });
  if (typeof healthy === "string")
    return yield wrong(
      `nothing answers as it should at ${adminUrl}/healthz (${healthy})`,
      `give the address of its admin listener: --admin-host and --admin-port as the server has them, or --url${adminUrl.startsWith("https:") && certificate === null ? "; where it wants a certificate of its callers, --client-cert and --client-key" : ""}`,
    );
  if (healthy.status !== 200 || fieldOf(healthy, "status") !== "ok")
    return yield wrong(
      `${adminUrl}/healthz answers ${healthy.status}, not as On Air does`,
      "another program has that port",
    );
  const ready = await ask(`${adminUrl}/readyz`, { certificate });
  const isReady = typeof ready !== "string" && ready.status === 200;
  const said = typeof ready === "string" ? ready : (fieldOf(ready, "message") ?? ready.status);
  yield isReady
    ? ok(`the server at ${adminUrl} is healthy and ready`)
    : wrong(
        `the server at ${adminUrl} is healthy, but not ready (${said})`,
        "its log says more; where it is starting or stopping, look again",
      );
  const aheadMs = healthy.at === null ? 0 : healthy.at - now();
  if (Math.abs(aheadMs) > clockToleranceMs)
    yield warning(
      `its clock and the one here are ${Math.round(Math.abs(aheadMs) / 1000)} s apart`,
      "set both: receivers refuse webhooks that are 5 minutes off",
    );
}

const clockToleranceMs = 30_000;

/** What the server finds wrong with itself, by its admin API, with the operator key. */
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
  if (typeof asked === "string") return yield skipped(`what it finds itself cannot be had (${asked})`);
  if (asked.status === 401)
    return yield key.wrong(
      `${adminUrl} refuses the operator key`,
      "set ONAIR_ADMIN_KEY to the one of that server",
    );
  if (asked.status !== 200) return yield skipped(`what it finds itself cannot be had (${asked.status})`);
  yield key.ok("the server takes it");
  yield* (fieldOf(asked, "data") ?? []) as Finding[];
}

/**
 * Whether the server at the public address or public URL has this signing key.
 * @param signingKey in PEM; null to accept any
 */
export async function publicFinding(check: string, url: string, signingKey: string | null): Promise<Finding> {
  const { ok, wrong } = findingsOf(check);
  const answer = await ask(`${url}/public/v1/public-key`);
  if (typeof answer === "string")
    return wrong(
      `nothing answers as it should at ${url} (${answer})`,
      "look at --host, --port and what is in front",
    );
  if (answer.status === 429) return ok(`a server answers at ${url}: 429, for now`);
  if (answer.status !== 200)
    return wrong(
      `${url} answers ${answer.status} where On Air has its public key`,
      "another program has that address",
    );
  if (signingKey !== null && !isOwnKey(answer, signingKey))
    return wrong(
      `the server at ${url} signs with another key: it serves another data directory`,
      "look at --data",
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
  // In its JSON form.
  return answer.body.includes(JSON.stringify(pem));
}

/** Whether a server could listen on the addresses of the settings; tries it briefly. */
export function portFindings({ host, port, adminHost, adminPort }: Config): Finding[] {
  return [portFinding("public_port", host, port), portFinding("admin_port", adminHost, adminPort)];
}

const reasons: Readonly<Record<string, readonly [what: string, mend: string]>> = {
  EADDRINUSE: ["another program has it", "stop that, or choose another port"],
  EADDRNOTAVAIL: ["this machine has no such address", "choose an address of this machine"],
  EACCES: ["this user may not listen there", "choose a port above 1023"],
};

function portFinding(check: string, hostname: string, port: number): Finding {
  const { ok, wrong } = findingsOf(check);
  if (port === 0) return ok(`${hostname}: any free port`);
  const address = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  try {
    // Bun's types lack `reusePort` here; with its default, a port that is taken may look free.
    const options = { hostname, port, reusePort: false, socket: { data() {} } };
    Bun.listen(options).stop(true);
    return ok(`${address} is free`);
  } catch (error) {
    const { code = "" } = error as { code?: string };
    const [what, mend] = reasons[code] ?? [`it cannot be listened on (${code})`, "choose another address"];
    return wrong(`${address}: ${what}`, mend);
  }
}
