import { readSigningKey } from "../../delivery/signature.ts";
import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { type DatabaseFacts, shownSizes } from "../../domain/storage.ts";
import { isoTime, minute, shownDuration } from "../../domain/time.ts";
import { createLog } from "../../runtime/log.ts";
import { startThread } from "../../runtime/threads.ts";
import { look, type SchemaState, schemaState } from "../../store/sqlite/open.ts";
import { type BrokenBodies, databaseFacts, type FileFacts } from "../../store/sqlite/sizes.ts";
import type { DatabaseCheck, DatabaseThread } from "./database-worker.ts";

interface IntegrityOptions extends DatabaseCheck {
  /** The URL of `database-worker.ts`. */
  readonly program: string;
  /** The time limit of the check. */
  readonly timeoutMs: number;
}

const restore =
  'restore a backup into another directory ("onair restore"), and keep this one for examination';

function checkThread(program: string, start: DatabaseCheck) {
  return startThread<DatabaseThread>({
    name: "check",
    program,
    start,
    logLevel: "off",
    log: createLog("off"),
    failed() {},
    offered: {},
  });
}

/**
 * Reads the facts of a database in use by this server. It runs in a thread, because counting users would block
 * requests.
 */
export async function factsElsewhere(program: string, data: string): Promise<FileFacts> {
  const { remote, started, end } = checkThread(program, { data, full: false });
  return started.then(() => remote.facts()).finally(end);
}

/** Runs SQLite's integrity and foreign key checks, then reads the bodies of all events. */
export async function* integrityFindings(options: IntegrityOptions): AsyncGenerator<Finding> {
  const { data, full, program, timeoutMs } = options;
  const pages = findingsOf("integrity");
  const references = findingsOf("foreign_keys");
  const bodies = findingsOf("event_bodies");
  const { remote, started, end } = checkThread(program, { data, full });
  const late = Promise.withResolvers<null>();
  const timer =
    timeoutMs === Number.POSITIVE_INFINITY ? null : setTimeout(() => late.resolve(null), timeoutMs);
  const inTime = <T>(call: () => Promise<T>) => Promise.race([late.promise, started.then(call)]);
  const tooLong = `not finished within ${timeoutMs / 1000} s`;
  const patiently = '"onair doctor --full" has no time limit';
  try {
    const broken = await inTime(() => remote.brokenPages());
    if (broken === null) return yield pages.skipped(tooLong, patiently);
    for (const fault of broken) yield pages.wrong(`the database is damaged: ${fault}`, restore);
    if (broken.length > 0) return;
    yield pages.ok(full ? "every page and index is intact" : "every page is intact");
    const dangling = await inTime(() => remote.danglingTables());
    if (dangling === null) yield references.skipped(tooLong, patiently);
    else if (dangling.length === 0) yield references.ok("every row refers to rows that exist");
    else yield references.wrong(`rows of ${dangling.join(", ")} refer to rows that do not exist`, restore);
    const lost = await inTime(() => remote.brokenBodies());
    yield lost === null ? bodies.skipped(tooLong, patiently) : bodyFinding(lost);
  } catch (error) {
    yield pages.wrong(messageOf(error)); // the message says what to do
  } finally {
    if (timer !== null) clearTimeout(timer);
    end();
  }
}

function bodyFinding({ count, first }: BrokenBodies): Finding {
  const { ok, wrong } = findingsOf("event_bodies");
  if (count === 0) return ok("the body of every event can be read");
  const named = `${first.join(", ")}${count > first.length ? ", …" : ""}`;
  return wrong(
    `${count === 1 ? "the body of an event is" : `the bodies of ${count} events are`} damaged (${named}): deliveries with it fail, all others are sent`,
    `have the platform publish the events again, under new ids, if they are still wanted; the disk may damage more data: ${restore}`,
  );
}

/** Measures the bytes used by each kind of data, in a separate thread. Rejects when the database cannot be read. */
export async function measuredSizes(program: string, data: string) {
  const { remote, started, end } = checkThread(program, { data, full: false });
  return started.then(() => remote.sizes()).finally(end);
}

/** Reports the space used by each kind of data. */
export async function sizeFinding(program: string, data: string): Promise<Finding> {
  const { ok, skipped } = findingsOf("sizes");
  try {
    return ok(shownSizes(await measuredSizes(program, data)));
  } catch (error) {
    return skipped(messageOf(error));
  }
}

/**
 * Reads the schema version of the database, and its facts (else null) if that is the version of this program. `isWhole`
 * is false when damaged pages were already reported; then an unreadable database adds no finding.
 */
export function readFacts(
  data: string,
  { isServed, isWhole }: { readonly isServed: boolean; readonly isWhole: boolean },
): { findings: Finding[]; facts: FileFacts | null } {
  const { ok, warning, wrong } = findingsOf("schema");
  let state: SchemaState;
  try {
    state = look(data, schemaState);
    if (state.pending.length > 0) {
      const message = `the database has an older schema (${state.applied.at(-1) ?? "empty"}): ${state.pending.length} migrations are pending`;
      const advice = isServed
        ? "a server of an older version uses it: stop that server, and start one of this version"
        : '"onair migrate --backup FILE" or the next "onair serve" upgrades it';
      return { findings: [warning(message, advice)], facts: null };
    }
  } catch (error) {
    return { findings: isWhole ? [wrong(messageOf(error))] : [], facts: null };
  }
  const findings = [ok(`the database has the schema of this version (${state.applied.at(-1)})`)];
  try {
    return { findings, facts: look(data, databaseFacts) };
  } catch (error) {
    return { findings: [wrong(`the database cannot be read: ${messageOf(error)}`, restore)], facts: null };
  }
}

/** Reports what the facts of a database say. */
export function* factFindings(facts: DatabaseFacts, now: number): Generator<Finding> {
  yield searchFinding(facts);
  yield signingKeyFinding(facts);
  yield webhookFinding(facts, now);
  const { heldSince } = facts;
  if (!heldSince) return;
  yield findingsOf("deliveries_held").warning(
    `deliveries are held since ${heldSince}, because a backup was restored or a server was started with --hold-deliveries`,
    'run "onair deliveries release" once no other server uses a copy of this data',
  );
}

function searchFinding({ users, indexedUsers }: DatabaseFacts): Finding {
  const { ok, wrong } = findingsOf("search_index");
  const shown = (count: number) => count.toLocaleString("en");
  if (users === indexedUsers) {
    return ok(`${shown(users)} ${users === 1 ? "user" : "users"}, all in the search index`);
  }
  return wrong(
    `the search index has ${shown(indexedUsers)} of ${shown(users)} users`,
    'stop the server and run "onair migrate --rebuild-search"',
  );
}

function signingKeyFinding({ signingKey }: DatabaseFacts): Finding {
  const { ok, warning, wrong } = findingsOf("signing_key");
  if (signingKey === null)
    return warning(
      "there is no signing key yet",
      "the next start of the server makes one; receivers then need its public key",
    );
  try {
    readSigningKey(signingKey);
    return ok("a valid Ed25519 key");
  } catch {
    return wrong("the signing key of webhooks is not an Ed25519 key", restore);
  }
}

function webhookFinding(facts: DatabaseFacts, now: number): Finding {
  const { ok, warning } = findingsOf("webhooks");
  const { failingEndpoints, disabledEndpoints, unwellApplications, oldestPendingAt } = facts;
  const many = facts.isPendingPartial ? " or more" : "";
  const age =
    oldestPendingAt === null ? "" : `, the oldest waiting for ${shownDuration(now - oldestPendingAt)}`;
  const pending = `pending deliveries: ${facts.pending.toLocaleString("en")}${many}${age}`;
  const unwell = failingEndpoints + disabledEndpoints;
  if (unwell === 0) return ok(`no endpoint is failing; ${pending}`);
  const which = `${unwellApplications.join(", ")}${unwell > unwellApplications.length ? ", …" : ""}`;
  return warning(
    `failing endpoints: ${failingEndpoints}, disabled: ${disabledEndpoints} (applications ${which}); ${pending}`,
    '"onair apps show ID" says why; "onair apps enable-endpoint ID" enables a disabled one again',
  );
}

const earliest = Date.parse("2026-01-01T00:00:00Z");

/** Checks that the clock is plausible: tokens, retries and signatures depend on it. */
export function clockFinding(now: number, newestEventAt: number | null): Finding {
  const { ok, wrong } = findingsOf("clock");
  const advice = "set the clock, by NTP if possible";
  const shown = isoTime(now);
  if (now < earliest)
    return wrong(`the clock says ${shown}, which is before the release of this version`, advice);
  if (newestEventAt !== null && newestEventAt > now + minute)
    return wrong(
      `the clock says ${shown}, ${shownDuration(newestEventAt - now)} before the newest event`,
      `${advice}; if it is right now, it was ahead when that event was published`,
    );
  return ok(`it is ${shown}`);
}
