import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { accountOf, type Unrecorded } from "./account.ts";
import { type DayApplication, type KindName, kinds, type Subscription } from "./applications.ts";
import { chat, followed } from "./events.ts";
import type { DayEvent } from "./publisher.ts";
import { Ledger, Streams } from "./receivers.ts";

/*
 * The account of a day finds each of these faults, and nothing in a day without one.
 */

const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;

function application(
  number: number,
  name: KindName,
  filter: DayApplication["filter"] = null,
): DayApplication {
  const kind = kinds.find((one) => one.name === name) as DayApplication["kind"];
  const app = {
    number,
    kind,
    id: `app${number}`,
    token: "",
    secrets: [secret],
    filter,
    subscriptions: [] as Subscription[],
  };
  app.subscriptions.push({ id: `sub${number}`, app, type: chat, channel: 1 });
  return app;
}

const event = (more: Partial<DayEvent> = {}): DayEvent => ({
  type: chat,
  channel: 1,
  features: 0,
  begunAt: 1,
  acknowledgedAt: 1,
  isRepublished: false,
  ...more,
});

interface Row {
  id: string;
  event_id: string;
  subscription_id: string;
  sequence: number;
  status: string;
  attempts: number;
}

/** A day of three events: two applications get each, one filters all out, one gets nothing because it fails. */
function soundDay() {
  const applications = [
    application(0, "one at a time"),
    application(1, "stream"),
    application(2, "filtering", { type: chat, bit: 1 }),
    application(3, "wrong"),
  ];
  const ledger = new Ledger();
  const streams = new Streams(ledger, () => null);
  const events = [event(), event(), event()];
  const rows: Row[] = [];
  for (const app of [applications[0], applications[1], applications[3]] as DayApplication[]) {
    for (const [n] of events.entries()) {
      const row = {
        id: `${app.id}-${n}`,
        event_id: `d${n}`,
        subscription_id: `sub${app.number}`,
        sequence: n + 1,
      };
      rows.push({ ...row, attempts: 1, status: app.number === 3 ? "pending" : "delivered" });
    }
  }
  const arrive = (app: DayApplication, n: number, more: Record<string, string> = {}, body = `event ${n}`) => {
    const id = more["webhook-id"] ?? `${app.id}-${n}`;
    const signature = createHmac("sha256", Buffer.alloc(24, 7)).update(`${id}.5.${body}`).digest("base64");
    const headers: Record<string, string> = {
      "webhook-id": id,
      "webhook-timestamp": "5",
      "webhook-signature": `v1,${signature}`,
      "onair-event-id": `d${n}`,
      "onair-subscription-id": `sub${app.number}`,
      "onair-sequence": `${n + 1}`,
      ...more,
    };
    return ledger.enter(app, (name) => headers[name] ?? null, body);
  };
  return { applications, ledger, streams, events, rows, arrive };
}

type Day = ReturnType<typeof soundDay>;
const app = ({ applications }: Day, number: number) => applications[number] as DayApplication;
const row = ({ rows }: Day, id: string) => rows.find((one) => one.id === id) as Row;
const change = (day: Day, id: string, fields: Partial<Row>) => void Object.assign(row(day, id), fields);

/** What arrives on a day without a fault. */
function arriveAll(day: Day): void {
  for (const n of [0, 1, 2]) {
    for (const number of [0, 1]) day.arrive(app(day, number), n).acceptedAt = 10_000;
    day.arrive(app(day, 3), n);
  }
}

async function problemsOf(
  { applications, events, ledger, streams, rows }: Day,
  unrecorded: Unrecorded[] = [],
): Promise<readonly string[]> {
  async function* pages() {
    yield rows;
  }
  return (
    await accountOf(applications, events, { ledger, streams, unrecorded, timeToLiveMs: 20_000 }, pages())
  ).problems;
}

test("a day without a fault", async () => {
  const day = soundDay();
  arriveAll(day);
  expect(await problemsOf(day)).toEqual([]);
});

test.each<[string, RegExp, (day: Day) => void]>([
  ["an event that lost a delivery", /d2 .* has 2 deliveries of 3/, (day) => void day.rows.splice(2, 1)],
  [
    "a second delivery of an event",
    /a second delivery/,
    (day) => day.rows.push({ ...row(day, "app0-0"), id: "again", sequence: 4 }),
  ],
  [
    "a delivery that a filter excludes",
    /its filter excludes it/,
    (day) => day.rows.push({ ...row(day, "app0-0"), id: "x", subscription_id: "sub2" }),
  ],
  [
    "delivered, and no receiver has it",
    /no receiver accepted it/,
    (day) => void day.ledger.arrivals.delete("app0-1"),
  ],
  [
    "on the stream, and no reader has it",
    /no reader got it/,
    (day) => void day.ledger.arrivals.delete("app1-1"),
  ],
  [
    "pending, although it was accepted",
    /its receiver accepted it/,
    (day) => change(day, "app0-1", { status: "pending" }),
  ],
  [
    "expired at a receiver that answers",
    /deserves to get it/,
    (day) => {
      change(day, "app0-1", { status: "expired" });
      day.ledger.arrivals.delete("app0-1");
    },
  ],
  ["canceled without a reason", /deserves to get it/, (day) => change(day, "app3-1", { status: "canceled" })],
  [
    "delivered to one that always fails",
    /cannot have been delivered/,
    (day) => change(day, "app3-1", { status: "delivered" }),
  ],
  [
    "expired although its type does not",
    /does not expire/,
    (day) => {
      const other = application(4, "wrong");
      other.subscriptions[0] = { ...(other.subscriptions[0] as Subscription), app: other, type: followed };
      day.applications.push(other);
      day.events.push(event({ type: followed }));
      day.rows.push({
        id: "f",
        event_id: "d3",
        subscription_id: "sub4",
        sequence: 1,
        status: "expired",
        attempts: 1,
      });
    },
  ],
  ["a gap in a sequence", /its sequence ends with 4/, (day) => change(day, "app3-2", { sequence: 4 })],
  [
    "an event that was never acknowledged",
    /never acknowledged/,
    (day) => void day.events.push(event({ acknowledgedAt: 0 })),
  ],
  [
    "an arrival that the database does not have",
    /the database does not have it/,
    (day) => void day.arrive(app(day, 0), 2, { "webhook-id": "other", "onair-sequence": "9" }),
  ],
  ["another body", /two bodies/, (day) => void day.arrive(app(day, 0), 1, {}, "another")],
  [
    "a wrong signature",
    /is not signed with its secret/,
    (day) => void day.arrive(app(day, 0), 1, { "webhook-signature": "v1,AAAA" }),
  ],
  [
    "a repetition as another event",
    /came again as another/,
    (day) => void day.arrive(app(day, 0), 2, { "webhook-id": "app0-1" }),
  ],
  [
    "an order that is broken",
    /2 came after 3/,
    (day) => void day.arrive(app(day, 0), 1, { "webhook-id": "late" }),
  ],
])("%s is found", async (_, message, spoil) => {
  const day = soundDay();
  arriveAll(day);
  spoil(day);
  expect((await problemsOf(day)).join("\n")).toMatch(message);
});

test.each([
  ["was accepted just before a kill", { from: 11_000, to: 20_000 }, []],
  [
    "was accepted long before one",
    { from: 14_000, to: 20_000 },
    [/its receiver accepted it/, /deserves to get it/],
  ],
] as const)("a chat message that expired and %s", async (_, kill, found) => {
  const day = soundDay();
  arriveAll(day);
  change(day, "app0-1", { status: "expired" });
  const problems = await problemsOf(day, [kill]);
  expect(problems).toHaveLength(found.length);
  for (const [i, one] of found.entries()) expect(problems[i]).toMatch(one);
});

test.each([
  ["most of its time, may expire at a prompt receiver", 15_000, 0],
  ["some of it, may not", 5_000, 1],
])("a chat message for which the platform was down for %s", async (_, to, count) => {
  const day = soundDay();
  arriveAll(day);
  change(day, "app0-1", { status: "expired" });
  day.ledger.arrivals.delete("app0-1");
  expect(await problemsOf(day, [{ from: 0, to }])).toHaveLength(count);
});
