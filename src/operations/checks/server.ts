import { publicKeyForms } from "../../delivery/signature.ts";
import type { Finding, findingsOf } from "../../domain/findings.ts";
import { ask, fieldOf, isLoopback, type ServerAnswer } from "./requests.ts";
import type { Check, Subject } from "./subject.ts";

/*
 * Checks of the server that uses the settings or the data, and of the addresses that a server could listen on.
 */

type Say = ReturnType<typeof findingsOf>;

const notLoopback = "not checked, because it is not on loopback";

export const serverCheck: Check = {
  name: "server",
  examines: "the process that uses the directory, and its `/healthz` and `/readyz`",
  places: ["doctor"],
  async *run(subject, say) {
    const { config, directory, doctor, listeners } = subject;
    const isServed = await subject.isServed;
    if (directory !== null && isServed !== null) {
      const pid = subject.holder?.pid ?? null;
      const process = pid === null ? "a process" : `process ${pid}`;
      yield say.ok(`${isServed ? process : "no server"} uses the directory`);
    }
    if (doctor.url !== null) return yield* health(doctor.url, subject, say);
    if (!isServed) return;
    const { admin } = listeners;
    if (!isLoopback(config.adminHost)) yield say.skipped(`${admin}: ${notLoopback}`, "check it with --url");
    else if (directory !== null && config.adminTlsClientCa !== null && doctor.certificate === null)
      yield say.skipped(
        `${admin}: not checked, because it requires a client certificate`,
        "give one with --client-cert and --client-key",
      );
    else yield* health(admin, subject, say);
  },
};

/** Checks `/healthz` and `/readyz` of an admin listener. */
async function* health(
  adminUrl: string,
  { now, doctor: { certificate } }: Subject,
  { ok, warning, wrong }: Say,
): AsyncGenerator<Finding> {
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

export const publicListenerCheck: Check = {
  name: "public_listener",
  examines: "while a server runs: it answers there, with the signing key of this directory",
  places: ["doctor"],
  async *run(subject, say) {
    const { config, directory, doctor, listeners } = subject;
    if (directory === null || doctor.url !== null || !(await subject.isServed)) return;
    if (isLoopback(config.host)) yield publicFinding(listeners.open, await signingKeyOf(subject), say);
    else yield say.skipped(`${listeners.open}: ${notLoopback}`, "check the public URL with --reach");
  },
};

export const reachCheck: Check = {
  name: "reach",
  examines: "with `--reach`: the server with this signing key answers at the public URL",
  places: ["doctor"],
  async *run(subject, say) {
    const { publicUrl } = subject.config;
    if (!subject.doctor.reach) return;
    if (publicUrl === null) yield say.skipped("there is no public URL to ask", "set --public-url");
    else yield publicFinding(publicUrl, await signingKeyOf(subject), say);
  },
};

const signingKeyOf = async (subject: Subject) => (await subject.facts)?.signingKey ?? null;

/**
 * Checks that the server at the public address or public URL has this signing key.
 * @param signingKey in PEM; null to accept any
 */
async function publicFinding(url: string, signingKey: string | null, { ok, wrong }: Say): Promise<Finding> {
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

export const publicPortCheck: Check = {
  name: "public_port",
  examines: "while no server runs: the port is free",
  places: ["doctor"],
  async *run(subject, say) {
    const { host, port } = subject.config;
    if ((await subject.isServed) !== false) return;
    yield portFinding({ host, port, probe: `${subject.listeners.open}/public/v1/public-key` }, subject, say);
  },
};

export const adminPortCheck: Check = {
  name: "admin_port",
  examines: "while no server runs: the port is free",
  places: ["doctor"],
  async *run(subject, say) {
    const { adminHost: host, adminPort: port } = subject.config;
    if ((await subject.isServed) !== false) return;
    yield portFinding({ host, port, probe: `${subject.listeners.admin}/healthz` }, subject, say);
  },
};

const reasons: Readonly<Record<string, readonly [what: string, advice: string]>> = {
  EADDRINUSE: ["another program uses it", "stop that program, or choose another port"],
  EADDRNOTAVAIL: ["this machine does not have this address", "choose an address of this machine"],
  EACCES: ["this user may not listen on it", "choose a port above 1023"],
};

/** An address of a listener, and a URL there to which On Air answers 200. */
interface Address {
  readonly host: string;
  readonly port: number;
  readonly probe: string;
}

/** Checks, by listening briefly, that a server could use an address. */
async function portFinding(
  { host: hostname, port, probe }: Address,
  { directory, doctor: { certificate } }: Subject,
  { ok, wrong }: Say,
): Promise<Finding> {
  if (port === 0) return ok(`${hostname}: any free port`);
  const address = `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
  try {
    // Bun's types lack `reusePort` here. With its default (true), a port in use may look free.
    const options = { hostname, port, reusePort: false, socket: { data() {} } };
    Bun.listen(options).stop(true);
    return ok(`${address} is free`);
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (code === "EADDRINUSE" && directory !== null && isLoopback(hostname)) {
      const answer = await ask(probe, { certificate });
      if (typeof answer !== "string" && answer.status === 200 && isOnAir(answer))
        return wrong(
          `${address}: an On Air server that does not hold ${directory} uses it`,
          `name the data of that server with --data or in the settings, or choose another port; if its files were in this directory and were removed, save the data before it stops: docs/operating.md has the commands`,
        );
    }
    const [what, advice] = reasons[code] ?? [`listening fails (${code})`, "choose another address"];
    return wrong(`${address}: ${what}`, advice);
  }
}

/** Whether an answer is the one of `/healthz` or of the public key. */
const isOnAir = (answer: ServerAnswer) =>
  fieldOf(answer, "status") === "ok" || answer.body.includes("-----BEGIN PUBLIC KEY-----");

export const operatorKeyCheck: Check = {
  name: "operator_key",
  examines: "with `--url` and `ONAIR_ADMIN_KEY`: the server accepts the key",
  places: ["doctor"],
  async *run(subject, { ok, wrong }) {
    const answer = await subject.serverFindings;
    if (answer === null || typeof answer === "string") return;
    if (answer.status === 401)
      yield wrong(
        `${subject.doctor.url} refuses the operator key`,
        "set ONAIR_ADMIN_KEY to an operator key of that server",
      );
    if (answer.status === 200) yield ok("the server accepts it");
  },
};

export const findingsCheck: Check = {
  name: "findings",
  examines: "with both: problems that the server itself reports, see below",
  places: ["doctor"],
  async *run(subject, { skipped }) {
    const answer = await subject.serverFindings;
    if (answer === null) return;
    const reason = typeof answer === "string" ? answer : `status ${answer.status}`;
    if (typeof answer === "string" || ![200, 401].includes(answer.status))
      yield skipped(`the server's own findings were not received (${reason})`);
    else yield* reportedBy(answer);
  },
};

/** Returns the findings in the answer of a server. */
export function reportedBy(answer: ServerAnswer | string | null): readonly Finding[] {
  if (answer === null || typeof answer === "string" || answer.status !== 200) return [];
  return (fieldOf(answer, "data") ?? []) as Finding[];
}
