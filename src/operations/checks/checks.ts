import { existsSync } from "node:fs";
import { urlOf } from "../../api/http/server.ts";
import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { second } from "../../domain/time.ts";
import type { Config } from "../../server/settings/config.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import { type DatabaseSettings, locationOf } from "../../store/location.ts";
import { becomeOwner, databaseIn, holderOf } from "../../store/sqlite/directory.ts";
import type { DatabaseStorage } from "../../store/storage.ts";
import { awsVariables } from "../backups/destination.ts";
import {
  clockFinding,
  factFindings,
  factsElsewhere,
  integrityFindings,
  readFacts,
  sizeFinding,
} from "./database.ts";
import {
  backupFindings,
  directoryFinding,
  forecastFindings,
  measuredSpace,
  modeFindings,
  secretFileFindings,
} from "./directory.ts";
import {
  ask,
  type ClientCertificate,
  healthFindings,
  isLoopback,
  portFindings,
  publicFinding,
  remoteFindings,
} from "./server.ts";
import { certificateFindings, exposureFindings, settingFindings } from "./settings.ts";

interface ExamineOptions {
  readonly config: Config;
  /** The mistakes in the settings, from `checkConfig`. */
  readonly mistakes: readonly string[];
  /** Paths of the files with secret settings. */
  readonly secretFiles: readonly string[];
  readonly env: Environment;
  /** The admin URL given by `--url`; null for the one in the settings. */
  readonly url: string | null;
  /** The client certificate for the admin listener; null for none. */
  readonly certificate: ClientCertificate | null;
  /** Whether to check the data directory. */
  readonly withData: boolean;
  /** Whether to request the public URL. */
  readonly reach: boolean;
  readonly full: boolean;
  /** The URL of `database-worker.ts`. */
  readonly program: string;
  /** Returns the data in a database. */
  readonly databaseAt: (database: DatabaseSettings) => Promise<DatabaseStorage>;
  readonly integrityTimeoutMs: number;
  readonly now: () => number;
}

/**
 * Runs all checks in turn. Changes nothing; sends requests to other machines only as `url` and `reach` request. What is
 * in order here is left out where the server reports the same check.
 */
export async function* examine(options: ExamineOptions): AsyncGenerator<Finding> {
  const { config, url, certificate } = options;
  const { adminKey } = config;
  const isAsked = url !== null && adminKey !== null;
  const remote = isAsked ? await Array.fromAsync(remoteFindings(url, adminKey, certificate)) : [];
  const reported = new Set(remote.flatMap(({ check, status }) => (status === "skipped" ? [] : check)));
  for await (const finding of localFindings(options))
    if (finding.status !== "ok" || !reported.has(finding.check)) yield finding;
  yield* remote;
}

async function* localFindings(options: ExamineOptions): AsyncGenerator<Finding> {
  const { config, mistakes, env, url, withData, reach, now } = options;
  yield* settingFindings(mistakes, env);
  yield* exposureFindings(config);
  if (withData) {
    yield* secretFileFindings(options.secretFiles);
    yield* certificateFindings(config, now());
  }
  const location = locationOf(config);
  const data = "database" in location ? database(options, location.database) : directory(options);
  const signingKey = withData ? yield* data : null;
  if (!withData) yield clockFinding(now(), null);
  if (url !== null) yield* healthFindings(url, options);
  const { publicUrl } = config;
  const { skipped } = findingsOf("reach");
  if (reach && publicUrl !== null) yield await publicFinding("reach", publicUrl, signingKey);
  else if (reach) yield skipped("there is no public URL to ask", "set --public-url");
}

/** Checks a PostgreSQL database. Returns the same as `directory`. */
async function* database(
  options: ExamineOptions,
  settings: DatabaseSettings,
): AsyncGenerator<Finding, string | null> {
  const { config, url, now, certificate } = options;
  const { postgresFindings } = await import("./postgres.ts");
  const { findings, signingKey, newestEventAt } = await postgresFindings(
    await options.databaseAt(settings),
    now(),
  );
  yield* findings;
  yield clockFinding(now(), newestEventAt);
  if (url !== null) return signingKey;
  // The database does not show whether a server on this machine uses it.
  const admin = urlOf(config.adminHost, config.adminPort, config.adminTlsCert !== null);
  const isServed =
    isLoopback(config.adminHost) && typeof (await ask(`${admin}/healthz`, { certificate })) !== "string";
  yield* isServed ? healthFindings(admin, options) : portFindings(config);
  return signingKey;
}

/** Checks a data directory. Returns its signing key, to compare with the server's; null when unknown. */
async function* directory(options: ExamineOptions): AsyncGenerator<Finding, string | null> {
  const { config, now, integrityTimeoutMs: timeoutMs } = options;
  const { data } = config;
  // So that the findings are those of the server's user.
  becomeOwner(data);
  const found = directoryFinding(data);
  yield found;
  if (found.status === "wrong") {
    yield clockFinding(now(), null);
    return null;
  }
  yield* modeFindings(data);
  yield measuredSpace(data);
  const holder = holderOf(data);
  if (!existsSync(databaseIn(data))) {
    yield* serverFindings(options, holder, null);
    yield clockFinding(now(), null);
    return null;
  }
  let isWhole = true;
  for await (const one of integrityFindings({ ...options, data, timeoutMs })) {
    if (one.check === "integrity" && one.status === "wrong") isWhole = false;
    yield one;
  }
  const { findings, facts } = readFacts(data, { isServed: holder !== null, isWhole });
  yield* findings;
  if (facts) {
    yield* forecastFindings(data, facts.freeBefore, now());
    yield* factFindings(facts, now());
    yield await sizeFinding(options.program, data);
  }
  yield* backupFindings({
    data,
    dataId: facts?.dataId,
    config,
    aws: awsVariables(options.env),
    reach: options.reach,
    now: now(),
  });
  yield clockFinding(now(), facts?.newestEventAt ?? null);
  yield* serverFindings(options, holder, facts?.signingKey ?? null);
  return facts?.signingKey ?? null;
}

/** Checks that the server of the directory is healthy, or that one could start. */
async function* serverFindings(
  options: ExamineOptions,
  holder: ReturnType<typeof holderOf>,
  signingKey: string | null,
): AsyncGenerator<Finding> {
  const { config, url, certificate } = options;
  const { ok, skipped } = findingsOf("server");
  if (holder === null) {
    yield ok("no server uses the directory");
    return yield* portFindings(config);
  }
  yield ok(`${holder.pid === null ? "a process" : `process ${holder.pid}`} uses the directory`);
  if (url !== null) return;
  const { host, adminHost } = config;
  const admin = urlOf(adminHost, config.adminPort, config.adminTlsCert !== null);
  const open = urlOf(host, config.port, config.tlsCert !== null);
  const elsewhere = "not checked, because it is not on loopback";
  if (!isLoopback(adminHost)) yield skipped(`${admin}: ${elsewhere}`, "check it with --url");
  else if (config.adminTlsClientCa !== null && certificate === null)
    yield skipped(
      `${admin}: not checked, because it requires a client certificate`,
      "give one with --client-cert and --client-key",
    );
  else yield* healthFindings(admin, options);
  const listener = findingsOf("public_listener");
  if (isLoopback(host)) yield publicFinding("public_listener", open, signingKey);
  else yield listener.skipped(`${open}: ${elsewhere}`, "check the public URL with --reach");
}

interface RunningOptions {
  readonly config: Config;
  /** The environment, checked for misspelt variables. */
  readonly env: Environment;
  /** Paths of the files with secret settings. */
  readonly secretFiles: readonly string[];
  /** The URL of `database-worker.ts`. */
  readonly program: string;
  /** Returns the data in a database. */
  readonly databaseAt: (database: DatabaseSettings) => Promise<DatabaseStorage>;
  readonly now: () => number;
}

/** How long findings are cached, because the console requests them often. A failure is not cached. */
const keptMs = 10 * second;

/**
 * Returns the checks that a running server makes on itself, for operators: those of `onair doctor`, except slow ones
 * and those of its own reachability.
 */
export function runningFindings(options: RunningOptions): () => Promise<readonly Finding[]> {
  let last: { readonly at: number; readonly findings: Promise<readonly Finding[]> } | null = null;
  return () => {
    const at = options.now();
    if (last && at - last.at < keptMs) return last.findings;
    const findings = Array.fromAsync(found(options));
    last = { at, findings };
    findings.catch(() => {
      if (last?.findings === findings) last = null;
    });
    return findings;
  };
}

async function* found(options: RunningOptions): AsyncGenerator<Finding> {
  const { config, env, secretFiles, program, now } = options;
  const location = locationOf(config);
  yield* settingFindings([], env);
  yield* exposureFindings(config);
  yield* secretFileFindings(secretFiles);
  yield* certificateFindings(config, now());
  if ("database" in location) {
    const { postgresFindings } = await import("./postgres.ts");
    const { findings, newestEventAt } = await postgresFindings(
      await options.databaseAt(location.database),
      now(),
    );
    yield* findings;
    return yield clockFinding(now(), newestEventAt);
  }
  const { directory } = location;
  const { skipped, wrong } = findingsOf("data_directory");
  try {
    const facts = await factsElsewhere(program, directory);
    yield* modeFindings(directory);
    yield measuredSpace(directory);
    yield* forecastFindings(directory, facts.freeBefore, now());
    yield* factFindings(facts, now());
    yield clockFinding(now(), facts.newestEventAt);
    yield skipped("the database pages were not read, because that takes long", '"onair doctor" reads them');
  } catch (error) {
    yield wrong(`the data directory cannot be read: ${messageOf(error)}`, "check the disk and the log");
  }
}
