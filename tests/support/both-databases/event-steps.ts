import { day, hour, isoTime, minute } from "../../../src/domain/time.ts";
import { streamPath } from "../event-stream.ts";
import { example } from "../publishing.ts";
import { ndjson } from "../server.ts";
import { ownToken, scopes } from "./application-steps.ts";
import { pages, query, type Step, some, text, type World } from "./world.ts";

/* Event types, subscriptions, events, deliveries and replays. */

const builtIn = ["channel.followed", "chat.message.sent", "kicks.gifted"];
const registered = ["raffle.won", "raffle.lost", "quiz.ended"];

const eventName = (world: World) =>
  world.chance(0.95)
    ? world.pick([...builtIn, ...registered])
    : world.pick(["no.such", "Raffle.Won", "", "a\u0000.b"]);
const versionOf = (world: World, name: string) => (registered.includes(name) ? world.between(1, 2) : 1);
/** A time around now, as a parameter has it. */
const time = (world: World) =>
  isoTime(world.pair.clock.now() - world.pick([-minute, 0, 1, minute, hour, day, 9 * day]));

const register: Step = (world) => {
  const properties = {
    winner: { type: world.pick(["string", "integer"]), ...some(world, { description: text(world.random) }) },
  };
  const body = {
    version: world.between(1, 2),
    schema: { type: "object", properties, additionalProperties: world.chance(0.5) },
    example: world.chance(0.9) ? {} : { winner: null },
    ...some(world, {
      description: text(world.random),
      time_to_live_seconds: world.pick([1, 60, 3600, null, 0]),
    }),
  };
  return world.call({ method: "PUT", path: `/admin/v1/event-types/${world.pick(registered)}`, body });
};
const unregister: Step = (world) =>
  world.call({
    method: "DELETE",
    path: `/admin/v1/event-types/${world.pick(registered)}${query(world, { version: world.between(1, 3) }, 0.9)}`,
  });
const eventTypes: Step = async (world) => {
  for (const path of ["/admin/v1/event-types", "/admin/v1/catalogue", "/public/v1/events/types"])
    await world.call({ method: "GET", path });
};

const subscribe: Step = async (world) => {
  const count = world.chance(0.95) ? world.between(1, 4) : world.pick([0, 50, 51]);
  const events = Array.from({ length: count }, () => {
    const name = eventName(world);
    return { name, version: versionOf(world, name) };
  });
  const body = { events, ...some(world, { broadcaster_user_id: world.id() }, 0.9) };
  const answer = await world.call({
    method: "POST",
    path: "/public/v1/events/subscriptions",
    body,
    token: world.token(),
  });
  const { data = [] } = answer.body as { data?: { subscription_id?: string }[] };
  world.see(
    "subscriptions",
    data.flatMap(({ subscription_id }) => subscription_id ?? []),
  );
};
const unsubscribe: Step = (world) => {
  const ids = Array.from({ length: world.between(0, 3) }, () => world.known("subscriptions"));
  const parameters = world.chance(0.5) ? `?id=${ids.join(",")}` : `?${ids.map((id) => `id=${id}`).join("&")}`;
  return world.call({
    method: "DELETE",
    path: `/public/v1/events/subscriptions${parameters}`,
    token: world.token(),
  });
};
const subscriptions: Step = async (world) => {
  const token = world.token();
  const filter = {
    broadcaster_user_id: world.id(),
    channel: text(world.random),
    event: eventName(world),
    limit: world.pick([1, 2, 100]),
  };
  const { body } = await world.call({ method: "GET", path: "/public/v1/events/subscriptions", token });
  const { data = [] } = body as { data?: { id: string }[] };
  world.see(
    "subscriptions",
    data.map(({ id }) => id),
  );
  await world.call({
    method: "GET",
    path: `/public/v1/events/subscriptions/${world.known("subscriptions")}`,
    token,
  });
  await pages(world, `/public/v1/application/subscriptions${query(world, filter)}`, token);
  await pages(
    world,
    `/admin/v1/subscriptions${query(world, { ...filter, application_id: world.known("applications") })}`,
  );
};

/** Ids are remembered for 7 days at least; how much longer, depends on the database. */
const eventId = (world: World) => {
  const days = Math.floor(world.pair.clock.now() / (3 * day));
  return `event-${days}-${world.between(1, 300)}`;
};
const event = (world: World) => {
  const name = eventName(world);
  const isRegistered = registered.includes(name);
  const winner = world.pick([text(world.random), 5, 1e21, "\u0000"]);
  return {
    name,
    version: versionOf(world, name),
    broadcaster_user_id: world.id(),
    data: isRegistered || world.chance(0.02) ? some(world, { winner, "odd\u0000": 1 }, 0.3) : example(name),
    ...some(world, { id: eventId(world) }, 0.4),
  };
};
const publish: Step = async (world) => {
  const isBatch = world.chance(0.4);
  const rows = Array.from({ length: world.between(0, 12) }, () => (world.chance(0.03) ? "{" : event(world)));
  const headers = {
    "content-type": isBatch ? "application/x-ndjson" : "application/json",
    ...some(world, { "idempotency-key": `key-${world.between(1, 40)}` }, 0.25),
  };
  const path = `/admin/v1/events${query(world, { atomic: world.chance(0.7) })}`;
  const call = { method: "POST", path, body: isBatch ? ndjson(rows) : JSON.stringify(event(world)), headers };
  const times = world.chance(0.15) ? 2 : 1;
  for (let i = 0; i < times; i++) await world.call(call);
};

export const deliveries: Step = async (world) => {
  const filter = {
    subscription_id: world.known("subscriptions"),
    event_id: world.chance(0.8) ? eventId(world) : "a\u0000",
    status: world.pick(["pending", "delivered", "failed", "expired", "canceled", "other"]),
    type: eventName(world),
    after: time(world),
    before: time(world),
    limit: world.pick([1, 2, 3, 100, 101]),
  };
  const isAdmin = world.chance(0.5);
  const more = { ...filter, application_id: world.known("applications") };
  const most = world.chance(0.1) ? 30 : 4;
  const rows = isAdmin
    ? await pages(world, `/admin/v1/deliveries${query(world, more, 0.25)}`, undefined, most)
    : await pages(world, `/public/v1/events/deliveries${query(world, filter, 0.25)}`, world.token(), most);
  world.see(
    "deliveries",
    rows.map(({ id }) => id),
  );
};
const delivery: Step = async (world) => {
  const id = world.known("deliveries");
  await world.call({ method: "GET", path: `/admin/v1/deliveries/${id}` });
  await world.call({ method: "GET", path: `/public/v1/events/deliveries/${id}`, token: world.token() });
};
const retry: Step = async (world) => {
  if (world.chance(0.5)) await deliveries(world);
  const base = world.chance(0.7) ? "/admin/v1" : "/public/v1/events";
  await world.call({
    method: "POST",
    path: `${base}/deliveries/${world.known("deliveries")}/retry`,
    token: world.token(),
  });
};
const replay: Step = async (world) => {
  const [one, other] = [time(world), time(world)].sort();
  const [from, to] = world.chance(0.9) ? [one, other] : [other, one];
  const body = {
    from,
    to,
    ...some(world, {
      dry_run: world.chance(0.7),
      status: world.pick(["delivered", "failed", "canceled", "expired"]),
      type: eventName(world),
      subscription_id: world.known("subscriptions"),
    }),
  };
  const { body: made } = world.chance(0.5)
    ? await world.call({ method: "POST", path: "/public/v1/events/replays", body, token: world.token() })
    : await world.call({
        method: "POST",
        path: "/admin/v1/replays",
        body: { ...body, application_id: world.known("applications") },
      });
  if (typeof made["id"] === "string") world.see("replays", [made["id"]]);
};
const replays: Step = async (world) => {
  const token = world.token();
  const id = world.known("replays");
  for (const base of ["/admin/v1", "/public/v1/events"]) {
    await world.call({ method: "GET", path: `${base}/replays`, token });
    await world.call({ method: world.chance(0.7) ? "GET" : "DELETE", path: `${base}/replays/${id}`, token });
  }
};
const hold: Step = (world) =>
  world.call({ method: world.pick(["GET", "DELETE"]), path: "/admin/v1/deliveries/hold" });

export const eventSteps: readonly (readonly [weight: number, step: Step])[] = [
  [2, register],
  [1, unregister],
  [1, eventTypes],
  [8, subscribe],
  [2, unsubscribe],
  [3, subscriptions],
  [20, publish],
  [9, deliveries],
  [3, delivery],
  [4, retry],
  [3, replay],
  [2, replays],
  [0.2, hold],
];

/* Event streams, and test webhooks. */

const stream: Step = async (world) => {
  const caller = world.caller();
  if (world.chance(0.6)) {
    const body = { delivery: world.pick(["both", "both", "stream"]), disabled: false, scopes };
    await world.call({ method: "PATCH", path: `/admin/v1/applications/${caller.id}`, body });
    await ownToken(world, caller);
  }
  const token = world.chance(0.85) ? caller.tokens.at(-1) : world.token();
  const positions = `positions of ${caller.id}`;
  const agoMs = world.pick([-minute, 0, minute, hour, 2 * world.pair.age.allMs, 2 * world.pair.age.allMs]);
  const after = isoTime(world.pair.clock.now() - agoMs);
  const { text } = await world.call({
    method: "GET",
    path: `${streamPath}${world.chance(0.8) ? `?after=${after}` : ""}`,
    token,
    headers: some(world, { "last-event-id": world.known(positions) }, 0.3),
  });
  world.see(
    positions,
    [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id),
  );
};

const testWebhook: Step = (world) => {
  const body = some(world, {
    event: world.pick(["channel.followed", "kicks.gifted", "raffle.won", "no.such"]),
    version: world.pick([1, 1, 2]),
    data: world.pick([{}, { winner: "a\u0000" }, { winner: 5 }]),
  });
  const path = `/public/v1/events/test${world.chance(0.3) ? "/stream" : ""}`;
  return world.call({ method: "POST", path, body, token: world.token() });
};

export const streamSteps: readonly (readonly [weight: number, step: Step])[] = [
  [6, stream],
  [1, testWebhook],
];
