import { Database } from "bun:sqlite";
import { SQL } from "bun";
import { type DayApplication, isWanted, kinds, type Subscription } from "./applications.ts";
import { chat, typeNames } from "./events.ts";
import type { DayEvent } from "./publisher.ts";
import { idOf, keyOf, type Ledger, numberOf, type Streams, subscriptionsByKey } from "./receivers.ts";

/** A delivery as the database has it. */
interface Row {
  readonly id: string;
  readonly event_id: string;
  readonly subscription_id: string;
  readonly sequence: number;
  readonly status: string;
  readonly attempts: number;
}

const rowsAtOnce = 20_000;
const columns = "d.id, d.subscription_id, d.sequence, d.status, d.attempts";

/** The deliveries in a file of SQLite that no server uses. */
export async function* rowsOfFile(file: string): AsyncGenerator<readonly Row[]> {
  const db = new Database(file, { readonly: true });
  try {
    const { integrity_check } =
      db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get() ?? {};
    if (integrity_check !== "ok") throw new Error(`the database is damaged: ${integrity_check}`);
    const page = db.query<Row & { seq: number }, [number, number]>(
      `SELECT d.seq, e.id AS event_id, ${columns} FROM deliveries d JOIN events e ON e.seq = d.event_seq
       WHERE d.seq > ? ORDER BY d.seq LIMIT ?`,
    );
    for (
      let rows = page.all(0, rowsAtOnce);
      rows.length > 0;
      rows = page.all(rows.at(-1)?.seq ?? 0, rowsAtOnce)
    )
      yield rows;
  } finally {
    db.close();
  }
}

/** The deliveries in a database of PostgreSQL. */
export async function* rowsOfPostgres(url: string): AsyncGenerator<readonly Row[]> {
  const sql = new SQL(url, { max: 1 });
  try {
    for (let after = 0; ; ) {
      const rows: (Row & { seq: number })[] = await sql.unsafe(
        `SELECT d.seq::float8 AS seq, d.event_id, ${columns} FROM deliveries d
         WHERE d.seq > ${after} ORDER BY d.seq LIMIT ${rowsAtOnce}`,
      );
      if (rows.length === 0) return;
      yield rows;
      after = Number(rows.at(-1)?.seq);
    }
  } finally {
    await sql.close();
  }
}

/** What became of the deliveries of the applications of one kind. */
interface KindOutcome {
  readonly name: string;
  readonly about: string;
  readonly applications: number;
  readonly requests: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** Deliveries that their filters kept from being made. */
  readonly filtered: number;
}

/** The account of a day: what became of each acknowledged event, and every broken promise. */
export interface Account {
  readonly acknowledged: number;
  readonly deliveries: number;
  readonly withoutSubscription: number;
  readonly kinds: readonly KindOutcome[];
  readonly problems: readonly string[];
}

const mostProblems = 100;

/** A time in which the platform could record nothing, or lost what it had recorded, in Unix milliseconds. */
export interface Unrecorded {
  readonly from: number;
  readonly to: number;
}

interface Known {
  readonly ledger: Ledger;
  readonly streams: Streams;
  readonly unrecorded: readonly Unrecorded[];
  /** Of chat messages. */
  readonly timeToLiveMs: number;
}

/** A result of so long before a kill may be lost. */
const gatheringMs = 3_000;

/** Compares what was acknowledged with the database and with what has arrived. */
export async function accountOf(
  applications: readonly DayApplication[],
  events: readonly DayEvent[],
  { ledger, streams, unrecorded, timeToLiveMs }: Known,
  pages: AsyncIterable<readonly Row[]>,
): Promise<Account> {
  const problems = [...ledger.problems];
  const problem = (text: string) => void (problems.length < mostProblems && problems.push(text));
  const byKey = subscriptionsByKey(applications);
  const byId = new Map(applications.flatMap((app) => app.subscriptions.map((one) => [one.id, one] as const)));
  const seen = streamed(ledger);
  const rowsOf = new Uint16Array(events.length);
  const sequences = new Map<string, { count: number; highest: number }>();
  const statuses = new Map<string, Map<string, number>>();
  const pairs = new Set<string>();
  let deliveries = 0;

  const check = (row: Row, subscription: Subscription, number: number, event: DayEvent) => {
    const { kind } = subscription.app;
    const what = `${row.event_id} for ${kind.name} ${subscription.app.number} (${row.id}, ${row.status})`;
    if (keyOf(event) !== keyOf(subscription)) problem(`${what}: of another type or channel`);
    if (!isWanted(subscription, event.features)) problem(`${what}: its filter excludes it`);
    const pair = `${number} ${subscription.id}`;
    if (pairs.has(pair)) problem(`${what}: a second delivery of the same event`);
    pairs.add(pair);
    const arrival = ledger.arrivals.get(row.id);
    if (arrival) arrival.isKnown = true;
    if (arrival && (arrival.event !== number || arrival.subscription !== subscription.id))
      problem(`${what}: arrived as another one`);
    if (kind.name === "stream") {
      const isToldMissing = (streams.gaps.get(subscription.app) ?? []).some(
        ({ from, to }) => from <= event.acknowledgedAt && event.acknowledgedAt <= to + 1_000,
      );
      if (row.status !== "delivered") problem(`${what}: not on the stream`);
      else if (!arrival && !seen.has(pair) && !isToldMissing) problem(`${what}: no reader got it`);
      return;
    }
    const acceptedAt = arrival?.acceptedAt ?? 0;
    // It may have been recorded never, and have expired then; or the platform could not send it in its time.
    const isLost = unrecorded.some(({ from, to }) => from - gatheringMs <= acceptedAt && acceptedAt <= to);
    const isLate = unrecorded.some(({ from, to }) => {
      const end = event.acknowledgedAt + timeToLiveMs;
      return Math.min(to, end) - Math.max(from, event.acknowledgedAt) > timeToLiveMs / 2;
    });
    if (row.status === "expired" && event.type === chat && (acceptedAt > 0 ? isLost : isLate)) return;
    const isAccepted = acceptedAt > 0;
    if (row.status === "delivered" && !isAccepted) problem(`${what}: no receiver accepted it`);
    if (row.status !== "delivered" && isAccepted) problem(`${what}: its receiver accepted it`);
    if (row.status === "delivered" && kind.isDead === true) problem(`${what}: cannot have been delivered`);
    if (row.status === "delivered") return;
    const may: readonly string[] = kind.may ?? [];
    if (!may.includes(row.status)) problem(`${what}: its receiver deserves to get it`);
    if (row.status === "expired" && event.type !== chat) problem(`${what}: its type does not expire so soon`);
  };

  for await (const rows of pages) {
    for (const row of rows) {
      deliveries++;
      const subscription = byId.get(row.subscription_id);
      const number = numberOf(row.event_id);
      const event = events[number];
      if (!subscription || !event || event.acknowledgedAt === 0) {
        problem(`${row.id}: of an event or a subscription that is not known`);
        continue;
      }
      rowsOf[number] = (rowsOf[number] ?? 0) + 1;
      const sequence = sequences.get(row.subscription_id) ?? { count: 0, highest: 0 };
      sequence.count++;
      sequence.highest = Math.max(sequence.highest, row.sequence);
      sequences.set(row.subscription_id, sequence);
      const of = statuses.get(subscription.app.kind.name) ?? new Map<string, number>();
      of.set(row.status, (of.get(row.status) ?? 0) + 1);
      statuses.set(subscription.app.kind.name, of);
      check(row, subscription, number, event);
    }
  }

  for (const [id, { count, highest }] of sequences)
    if (count !== highest) problem(`${id} has ${count} deliveries, and its sequence ends with ${highest}`);
  let acknowledged = 0;
  let withoutSubscription = 0;
  const filtered = new Map<string, number>();
  for (const [number, event] of events.entries()) {
    const subscriptions = byKey.get(keyOf(event)) ?? [];
    if (event.acknowledgedAt === 0) {
      problem(`${idOf(number)} was never acknowledged`);
      continue;
    }
    acknowledged++;
    let expected = 0;
    for (const one of subscriptions) {
      if (isWanted(one, event.features)) expected++;
      else filtered.set(one.app.kind.name, (filtered.get(one.app.kind.name) ?? 0) + 1);
    }
    if (subscriptions.length === 0) withoutSubscription++;
    if (rowsOf[number] !== expected)
      problem(`${idOf(number)} (${typeNames[event.type]}) has ${rowsOf[number]} deliveries of ${expected}`);
  }
  for (const [id, arrival] of ledger.arrivals) {
    // Of a database that was lost: the event has a new delivery.
    if (!arrival.isKnown && !events[arrival.event]?.isRepublished)
      problem(`${id} of ${idOf(arrival.event)} arrived, and the database does not have it`);
  }
  return {
    acknowledged,
    deliveries,
    withoutSubscription,
    kinds: kinds.map(({ name, about }) => ({
      name,
      about,
      applications: applications.filter(({ kind }) => kind.name === name).length,
      requests: ledger.requests.get(name) ?? 0,
      statuses: Object.fromEntries(statuses.get(name) ?? []),
      filtered: filtered.get(name) ?? 0,
    })),
    problems,
  };
}

/** Events and subscriptions that readers of streams got, also as a delivery of a database that was lost. */
function streamed(ledger: Ledger): ReadonlySet<string> {
  const seen = new Set<string>();
  for (const { event, subscription, acceptedAt } of ledger.arrivals.values())
    if (acceptedAt > 0) seen.add(`${event} ${subscription}`);
  return seen;
}
