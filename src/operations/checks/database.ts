import { readSigningKey } from "../../delivery/signature.ts";
import { messageOf } from "../../domain/errors.ts";
import { shownSizes } from "../../domain/sizes.ts";
import { isoTime, minute, shownDuration } from "../../domain/time.ts";
import { shownDataLocation } from "../../store/location.ts";
import { measuredSizes } from "./database-thread.ts";
import type { Check } from "./subject.ts";

/*
 * Checks of the database, in a file or in PostgreSQL, and of the data in it.
 */

const restore =
  'restore a backup into another directory ("onair restore"), and keep this one for examination';
const patiently = '"onair doctor --full" has no time limit';
const notFinished = (timeoutMs: number) => `not finished within ${timeoutMs / 1000} s`;

export const integrityCheck: Check = {
  name: "integrity",
  examines:
    "SQLite's `quick_check`; with `--full` its `integrity_check`, which compares indexes with their tables",
  places: ["doctor"],
  async *run(subject, { ok, wrong, skipped }) {
    const { pages, doctor } = subject;
    if (pages === null) return;
    try {
      const broken = await pages.broken();
      if (broken === null) return yield skipped(notFinished(doctor.integrityTimeoutMs), patiently);
      subject.isDamaged = broken.length > 0;
      for (const fault of broken) yield wrong(`the database is damaged: ${fault}`, restore);
      if (broken.length > 0) return;
      subject.isIntact = true;
      yield ok(doctor.full ? "every page and index is intact" : "every page is intact");
    } catch (error) {
      subject.isDamaged = true;
      yield wrong(messageOf(error)); // the message says what to do
    }
  },
};

export const foreignKeysCheck: Check = {
  name: "foreign_keys",
  examines: "rows refer to rows that exist",
  places: ["doctor"],
  async *run({ pages, isIntact, doctor }, { ok, wrong, skipped }) {
    if (pages === null || !isIntact) return;
    const dangling = await pages.dangling();
    if (dangling === null) yield skipped(notFinished(doctor.integrityTimeoutMs), patiently);
    else if (dangling.length === 0) yield ok("every row refers to rows that exist");
    else yield wrong(`rows of ${dangling.join(", ")} refer to rows that do not exist`, restore);
  },
};

export const eventBodiesCheck: Check = {
  name: "event_bodies",
  examines: "the bodies of events can be unpacked; deliveries of one that is damaged end as `failed`",
  places: ["doctor"],
  async *run({ pages, isIntact, doctor }, { ok, wrong, skipped }) {
    if (pages === null || !isIntact) return;
    const lost = await pages.bodies();
    if (lost === null) return yield skipped(notFinished(doctor.integrityTimeoutMs), patiently);
    const { count, first } = lost;
    if (count === 0) return yield ok("the body of every event can be read");
    const named = `${first.join(", ")}${count > first.length ? ", …" : ""}`;
    yield wrong(
      `${count === 1 ? "the body of an event is" : `the bodies of ${count} events are`} damaged (${named}): deliveries with it fail, all others are sent`,
      `have the platform publish the events again, under new ids, if they are still wanted; the disk may damage more data: ${restore}`,
    );
  },
};

export const databaseCheck: Check = {
  name: "database",
  examines: "on PostgreSQL: it answers where the settings say, and which version it is",
  places: ["server", "doctor"],
  async *run(subject, { ok, wrong }) {
    const { database } = subject;
    const state = await subject.postgres;
    if (state === null || database === null) return;
    if (state.problem !== null) yield wrong(state.problem);
    else if (state.facts)
      yield ok(`PostgreSQL ${state.facts.version} answers at ${shownDataLocation({ database })}`);
  },
};

export const schemaCheck: Check = {
  name: "schema",
  examines: "the schema of the database is that of this version",
  places: ["server", "doctor"],
  async *run(subject, { ok, warning, wrong }) {
    const { database } = subject;
    const file = await subject.file;
    const schema = (file ?? (await subject.postgres))?.schema ?? null;
    if (schema === null) {
      // A server checks the schema of a file at its start.
      const isKnown = file === null || subject.place === "server" || subject.isDamaged;
      if (!isKnown && file.problem !== null) yield wrong(file.problem);
      return;
    }
    const newest = schema.applied.at(-1);
    const pending = `${schema.pending.length} migrations are pending`;
    if (schema.pending.length > 0 && database !== null)
      yield warning(
        `${shownDataLocation({ database })} ${newest === undefined ? "is empty" : `has an older schema (${newest})`}: ${pending}`,
        '"onair migrate" or the next "onair serve" upgrades it',
      );
    else if (schema.pending.length > 0)
      yield warning(
        `the database has an older schema (${newest ?? "empty"}): ${pending}`,
        subject.holder === null
          ? '"onair migrate --backup FILE" or the next "onair serve" upgrades it'
          : "a server of an older version uses it: stop that server, and start one of this version",
      );
    else if (file?.problem) yield wrong(`the database cannot be read: ${file.problem}`, restore);
    else yield ok(`the database has the schema of this version (${newest})`);
  },
};

export const primaryCheck: Check = {
  name: "primary",
  examines:
    "shown only for a URL with several hosts: one of them alone accepts writes; names a former primary by its older timeline",
  places: ["server", "doctor"],
  async *run(subject, { ok, wrong, skipped }) {
    const writable = (await subject.postgres)?.writable ?? null;
    if (writable === null) return;
    const [newest, ...others] = writable;
    if (!newest) return yield skipped("no host of the URL answered as primary");
    if (others.length === 0)
      return yield ok(`${newest.host} is the only host of the URL that accepts writes`);
    const named = writable.map(({ host, timeline }) => `${host} (timeline ${timeline})`);
    const former = others.filter(({ timeline }) => timeline < newest.timeline).map(({ host }) => host);
    yield wrong(
      `${named.length} hosts of the URL accept writes: ${named.join(", ")}. What one of them stores, the others do not have`,
      former.length === others.length
        ? `stop PostgreSQL on the former primary ${former.join(", ")}, and make it a standby of ${newest.host}`
        : "name only hosts of one primary and its standbys in the URL, and stop PostgreSQL on all others",
    );
  },
};

export const searchIndexCheck: Check = {
  name: "search_index",
  examines: "it has as many users as their table",
  places: ["server", "doctor"],
  async *run(subject, { ok, wrong }) {
    const facts = await subject.facts;
    if (facts === null) return;
    const { users, indexedUsers } = facts;
    const grouped = (count: number) => count.toLocaleString("en");
    if (users === indexedUsers)
      return yield ok(`${grouped(users)} ${users === 1 ? "user" : "users"}, all in the search index`);
    yield wrong(
      `the search index has ${grouped(indexedUsers)} of ${grouped(users)} users`,
      'stop the server and run "onair migrate --rebuild-search"',
    );
  },
};

export const signingKeyCheck: Check = {
  name: "signing_key",
  examines: "it exists and is an Ed25519 key",
  places: ["server", "doctor"],
  async *run(subject, { ok, warning, wrong }) {
    const facts = await subject.facts;
    if (facts === null) return;
    if (facts.signingKey === null)
      return yield warning(
        "there is no signing key yet",
        "the next start of the server makes one; receivers then need its public key",
      );
    try {
      readSigningKey(facts.signingKey);
    } catch {
      return yield wrong("the signing key of webhooks is not an Ed25519 key", restore);
    }
    yield ok("a valid Ed25519 key");
  },
};

export const webhooksCheck: Check = {
  name: "webhooks",
  examines:
    "failing and disabled endpoints with their applications, and number and age of waiting deliveries",
  places: ["server", "doctor"],
  async *run(subject, { ok, warning }) {
    const facts = await subject.facts;
    if (facts === null) return;
    const { failingEndpoints, disabledEndpoints, unwellApplications, oldestPendingAt } = facts;
    const many = facts.isPendingPartial ? " or more" : "";
    const age =
      oldestPendingAt === null
        ? ""
        : `, the oldest waiting for ${shownDuration(subject.now() - oldestPendingAt)}`;
    const pending = `pending deliveries: ${facts.pending.toLocaleString("en")}${many}${age}`;
    const unwell = failingEndpoints + disabledEndpoints;
    if (unwell === 0) return yield ok(`no endpoint is failing; ${pending}`);
    const which = `${unwellApplications.join(", ")}${unwell > unwellApplications.length ? ", …" : ""}`;
    yield warning(
      `failing endpoints: ${failingEndpoints}, disabled: ${disabledEndpoints} (applications ${which}); ${pending}`,
      '"onair apps show ID" says why; "onair apps enable-endpoint ID" enables a disabled one again',
    );
  },
};

export const deliveriesHeldCheck: Check = {
  name: "deliveries_held",
  examines: "shown only while a [restored](backups.md#restoring) copy is not released, and sends nothing",
  places: ["server", "doctor"],
  async *run(subject, { warning }) {
    const heldSince = (await subject.facts)?.heldSince;
    if (!heldSince) return;
    yield warning(
      `deliveries are held since ${heldSince}, because a backup was restored or a server was started with --hold-deliveries`,
      'run "onair deliveries release" once no other server uses a copy of this data',
    );
  },
};

export const sizesCheck: Check = {
  name: "sizes",
  examines:
    "space used by each kind of data; whether much of it is free and not returned ([Disk](operating.md#disk))",
  places: ["server", "doctor"],
  async *run(subject, { ok, skipped }) {
    const { directory, place, program } = subject;
    const kinds = (await subject.postgres)?.kinds ?? null;
    if (kinds !== null) return yield ok(shownSizes(kinds));
    // A server measures the sizes of a file once an hour, for the console.
    if (directory === null || place === "server" || !(await subject.facts)) return;
    try {
      yield ok(shownSizes(await measuredSizes(program, directory)));
    } catch (error) {
      yield skipped(messageOf(error));
    }
  },
};

const earliest = Date.parse("2026-01-01T00:00:00Z");

export const clockCheck: Check = {
  name: "clock",
  examines:
    "not before this version was built, nor before the newest event; with `--url`, compared with the server's",
  places: ["server", "doctor"],
  async *run(subject, { ok, wrong }) {
    const newestEventAt = (await subject.facts)?.newestEventAt ?? null;
    const now = subject.now();
    const advice = "set the clock, by NTP if possible";
    const time = isoTime(now);
    if (now < earliest)
      return yield wrong(`the clock says ${time}, which is before the release of this version`, advice);
    if (newestEventAt !== null && newestEventAt > now + minute)
      return yield wrong(
        `the clock says ${time}, ${shownDuration(newestEventAt - now)} before the newest event`,
        `${advice}; if it is right now, it was ahead when that event was published`,
      );
    yield ok(`it is ${time}`);
  },
};
