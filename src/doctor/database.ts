import { messageOf } from "../domain/errors.ts";
import { type Finding, findingsOf } from "../domain/operations/findings.ts";
import { shownSizes } from "../domain/operations/kind-sizes.ts";
import { isoTime, minute, shownDuration } from "../domain/time.ts";
import { createLog } from "../log/log.ts";
import type { DatabaseFacts } from "../store/operations/facts.ts";
import { type BrokenBodies, databaseFacts, type FileFacts } from "../store/sqlite/database/facts.ts";
import { look, type SchemaState, schemaState } from "../store/sqlite/database/look.ts";
import { startThread } from "../threads/start.ts";
import { readSigningKey } from "../webhooks/signature.ts";
import type { DatabaseCheck, DatabaseThread } from "./database-worker.ts";

interface IntegrityOptions extends DatabaseCheck {
  /** The URL of `database-worker.ts`. */
  readonly program: string;
  /** The time limit of the check. */
  readonly timeoutMs: number;
}

const restore = '"onair restore" a backup into another directory, and keep this one for a later examination';

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

/** The facts of a database that is being served, read in a thread: counting users would hold up requests. */
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
  const patiently = '"onair doctor --full" takes as long as it needs';
  try {
    const broken = await inTime(() => remote.brokenPages());
    if (broken === null) return yield pages.skipped(tooLong, patiently);
    for (const fault of broken) yield pages.wrong(`the database is damaged: ${fault}`, restore);
    if (broken.length > 0) return;
    yield pages.ok(full ? "every page and index is in order" : "every page is in order");
    const dangling = await inTime(() => remote.danglingTables());
    if (dangling === null) yield references.skipped(tooLong, patiently);
    else if (dangling.length === 0) yield references.ok("every row refers to rows that exist");
    else yield references.wrong(`rows of ${dangling.join(", ")} refer to rows that do not exist`, restore);
    const lost = await inTime(() => remote.brokenBodies());
    yield lost === null ? bodies.skipped(tooLong, patiently) : bodyFinding(lost);
  } catch (error) {
    yield pages.wrong(messageOf(error)); // says what to do
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
    `${count === 1 ? "the body of an event is" : `the bodies of ${count} events are`} damaged (${named}): its deliveries fail, all others go on`,
    `have the platform publish what is still wanted again, under another id; the disk may damage more: ${restore}`,
  );
}

/** What the kinds of data take in a directory, measured in a thread of its own. Rejects where it cannot be read. */
export async function measuredSizes(program: string, data: string) {
  const { remote, started, end } = checkThread(program, { data, full: false });
  return started.then(() => remote.sizes()).finally(end);
}

/** The free bytes of a database above which there is advice. */
const muchFree = 64 * 1024 * 1024;

/** What uses the space of a data directory. */
export async function sizeFinding(program: string, data: string): Promise<Finding> {
  const { ok, warning, skipped } = findingsOf("sizes");
  try {
    const { kinds, givesBack } = await measuredSizes(program, data);
    if (kinds.free < muchFree || givesBack) return ok(shownSizes(kinds));
    const mend = 'stop the server and run "onair compact", which gives what is free back to the disk';
    return warning(shownSizes(kinds), mend);
  } catch (error) {
    return skipped(messageOf(error));
  }
}

/**
 * Reads the schema version of the database, and its other facts when the version is this program's; null when it is
 * unreadable. `isWhole`: its pages are not known to be damaged; where they are, that has been said.
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
      const message = `the database is of an older version (${state.applied.at(-1) ?? "empty"}): ${state.pending.length} migrations are pending`;
      const mend = isServed
        ? "a server of an older version runs on it: start that of this version in its place"
        : '"onair migrate --backup FILE" or the next "onair serve" brings it to this one';
      return { findings: [warning(message, mend)], facts: null };
    }
  } catch (error) {
    return { findings: isWhole ? [wrong(messageOf(error))] : [], facts: null };
  }
  const findings = [ok(`the database has the form of this version (${state.applied.at(-1)})`)];
  try {
    return { findings, facts: look(data, databaseFacts) };
  } catch (error) {
    return { findings: [wrong(`the database cannot be read: ${messageOf(error)}`, restore)], facts: null };
  }
}

/** The findings of those facts. */
export function* factFindings(facts: DatabaseFacts, now: number): Generator<Finding> {
  yield searchFinding(facts);
  yield signingKeyFinding(facts);
  yield webhookFinding(facts, now);
  const { heldSince } = facts;
  if (!heldSince) return;
  yield findingsOf("deliveries_held").warning(
    `nothing is sent since ${heldSince}: a backup was restored, or a server started with --hold-deliveries`,
    'when no other server of the same data runs: "onair deliveries release"',
  );
}

function searchFinding({ users, indexedUsers }: DatabaseFacts): Finding {
  const { ok, wrong } = findingsOf("search_index");
  const shown = (count: number) => count.toLocaleString("en");
  if (users === indexedUsers) {
    return ok(`${shown(users)} ${users === 1 ? "user" : "users"}, and as many in the index of the search`);
  }
  return wrong(
    `the index of the search has ${shown(indexedUsers)} users, of ${shown(users)}`,
    'stop the server and run "onair migrate --rebuild-search"',
  );
}

function signingKeyFinding({ signingKey }: DatabaseFacts): Finding {
  const { ok, warning, wrong } = findingsOf("signing_key");
  if (signingKey === null)
    return warning(
      "there is no signing key yet",
      "the next start makes one: receivers then need its public key",
    );
  try {
    readSigningKey(signingKey);
    return ok("a valid Ed25519 key");
  } catch {
    return wrong("what signs webhooks is not an Ed25519 key", restore);
  }
}

function webhookFinding(facts: DatabaseFacts, now: number): Finding {
  const { ok, warning } = findingsOf("webhooks");
  const { failingEndpoints, disabledEndpoints, unwellApplications, oldestPendingAt } = facts;
  const many = facts.isPendingPartial ? " or more" : "";
  const age = oldestPendingAt === null ? "" : `, the oldest for ${shownDuration(now - oldestPendingAt)}`;
  const pending = `pending deliveries: ${facts.pending.toLocaleString("en")}${many}${age}`;
  const unwell = failingEndpoints + disabledEndpoints;
  if (unwell === 0) return ok(`no endpoint is failing; ${pending}`);
  const which = `${unwellApplications.join(", ")}${unwell > unwellApplications.length ? ", …" : ""}`;
  return warning(
    `endpoints that are failing: ${failingEndpoints}, disabled: ${disabledEndpoints} (of ${which}); ${pending}`,
    '"onair apps show ID" says why; "onair apps enable-endpoint ID" enables a disabled one again',
  );
}

const earliest = Date.parse("2026-01-01T00:00:00Z");

/** Whether the clock is plausible: tokens, retries and signatures depend on it. */
export function clockFinding(now: number, newestEventAt: number | null): Finding {
  const { ok, wrong } = findingsOf("clock");
  const mend = "set the clock, by NTP if possible";
  const shown = isoTime(now);
  if (now < earliest) return wrong(`the clock says ${shown}, which is before this version was made`, mend);
  if (newestEventAt !== null && newestEventAt > now + minute)
    return wrong(
      `the clock says ${shown}, ${shownDuration(newestEventAt - now)} before the newest event`,
      `${mend}; where it is right now, it was ahead when that event came`,
    );
  return ok(`it is ${shown}`);
}
