import { afterEach, describe, expect, test } from "bun:test";
import { readConfig } from "../../src/config/read-config.ts";
import type { Finding } from "../../src/domain/operations/findings.ts";
import {
  type DeliveryOutcome,
  OutcomeCollector,
  type WatchedOutcomes,
} from "../../src/domain/operations/outcomes.ts";
import type { OutcomeListener } from "../../src/engine/engine.ts";
import { findingsWatch } from "../../src/http/admin/operations/findings.ts";
import { OutcomeStreams } from "../../src/http/stream/outcome-streams.ts";
import type { SentNews } from "../../src/store/replicas/news.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { adminKey, json, type TestServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

interface Outcomes {
  outcomes: (Omit<DeliveryOutcome, "at"> & { at: string })[];
  left_out: number;
}

const readers: { cancel(): Promise<void> }[] = [];
afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.cancel();
});

/** What arrives on a stream, as long as the test lasts. */
function watching(body: ReadableStream<Uint8Array> | null) {
  const seen: { parts: Outcomes[]; text: string; isEnded: boolean } = { parts: [], text: "", isEnded: false };
  const reader = body?.getReader();
  if (!reader) throw new Error("there is no stream");
  readers.push(reader);
  void (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      seen.text += new TextDecoder().decode(value);
      const frames = seen.text.split("\n\n").filter((frame) => /^event: outcomes$/m.test(frame));
      seen.parts = frames.map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as Outcomes);
    }
    seen.isEnded = true;
  })();
  return seen;
}

const all = (seen: { parts: readonly Outcomes[] }) => seen.parts.flatMap(({ outcomes }) => outcomes);

async function platform() {
  const server = await testServer();
  await server.load("users", users);
  const receiver = testReceiver((_, number) => new Response("no", { status: number === 1 ? 500 : 204 }));
  const app = await server.application({ webhook_url: receiver.url });
  const other = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  await subscribe(server, other, ["kicks.gifted"]);
  return { server, app, other };
}

const operatorStream = async (server: TestServer, query = "") => {
  const answer = await server.admin("GET", `/admin/v1/outcomes${query}`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  return watching(answer.body);
};

describe("a stream of outcomes", () => {
  test("shows an application its own, and operators those of all or of one", async () => {
    const { server, app, other } = await platform();
    const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
    const everything = await operatorStream(server);
    const ofOther = await operatorStream(server, `?application_id=${other.id}`);
    await until(() => [own, everything, ofOther].every(({ text }) => text.startsWith("retry: 1000\n")));
    for (const name of ["channel.followed", "channel.followed", "kicks.gifted"]) {
      const before = all(everything).length;
      expect((await publish(server, event(name))).status).toBe(202);
      await until(() => all(everything).length === before + 1);
    }
    await until(() => all(own).length === 2 && all(ofOther).length === 1);
    expect(all(own)).toMatchObject([
      {
        application_id: app.id,
        type: "channel.followed",
        status: "pending",
        attempt: 1,
        outcome: "status",
        http_status: 500,
        error: "The answer was 500.",
      },
      {
        application_id: app.id,
        status: "delivered",
        attempt: 1,
        outcome: "ok",
        http_status: 204,
        error: null,
      },
    ]);
    expect(all(ofOther).map(({ application_id }) => application_id)).toEqual([other.id]);
    expect(all(everything)).toHaveLength(3);
    // What the receiver answered may hold anything, and is shown by the delivery alone.
    expect(own.text).not.toContain('"no"');
    const list = await json<{ data: { id: string }[] }>(
      await server.get("/public/v1/events/deliveries", app.token),
    );
    expect(
      all(own)
        .map(({ delivery_id }) => delivery_id)
        .sort(),
    ).toEqual(list.data.map(({ id }) => id).sort());
  });

  test("ends with the token or key that opened it", async () => {
    const { server, app } = await platform();
    const { key, id } = await json<{ key: string; id: string }>(
      await server.admin("POST", "/admin/v1/keys", { name: "watches", role: "reader" }),
    );
    const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
    const answer = await server.admin("GET", "/admin/v1/outcomes", undefined, {
      authorization: `Bearer ${key}`,
    });
    const reading = watching(answer.body);
    const lasting = await operatorStream(server);
    await until(() => [own, reading, lasting].every(({ text }) => text !== ""));
    expect((await server.admin("DELETE", `/admin/v1/keys/${id}`)).status).toBe(204);
    expect((await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`)).status).toBe(200);
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    await until(() => reading.isEnded && own.isEnded && all(lasting).length === 1);
    expect([all(reading), all(own), lasting.isEnded]).toEqual([[], [], false]);
  });

  test("takes a token of the application or an operator's key, and there may be ten of an application", async () => {
    const { server, app } = await platform();
    const path = "/public/v1/application/outcomes";
    expect((await server.get(path)).status).toBe(401);
    expect((await fetch(`${server.app.adminUrl}/admin/v1/outcomes`)).status).toBe(401);
    expect((await server.get("/admin/v1/outcomes", adminKey)).status).toBe(404);
    for (let i = 0; i < 10; i++) {
      const answer = await server.get(path, app.token);
      expect(answer.status).toBe(200);
      watching(answer.body);
    }
    const eleventh = await server.get(path, app.token);
    expect([eleventh.status, (await json<{ code: string }>(eleventh)).code]).toEqual([429, "rate_limited"]);
    // They take no place of an operator who looks on at the same application.
    const looking = await server.admin("GET", `/admin/v1/outcomes?application_id=${app.id}`);
    expect(looking.status).toBe(200);
    watching(looking.body);
    await readers.shift()?.cancel();
    await until(async () => {
      const { status, body } = await server.get(path, app.token);
      await body?.cancel();
      return status === 200;
    });
  });
});

const outcome = (n: number, application_id = "a"): DeliveryOutcome => ({
  delivery_id: `d${n}`,
  subscription_id: "s",
  application_id,
  type: "channel.followed",
  at: n,
  status: "delivered",
  attempt: 1,
  outcome: "ok",
  http_status: 204,
  duration_ms: 1,
  error: null,
});

test("what nobody watches is not collected; of many a sample is, and each watcher is told how many it lacks", () => {
  const collector = new OutcomeCollector();
  expect(collector.isWanted("a")).toBe(false);
  collector.watch({ all: true, applications: ["quiet"] });
  for (let n = 0; n < 1_000; n++) collector.add(outcome(n, "noisy"));
  collector.add(outcome(1_000, "quiet"));
  const batches = collector
    .take()
    .map(({ application_id, outcomes, left_out }) => [application_id, outcomes.length, left_out]);
  expect(batches).toEqual([
    [null, 20, 981],
    ["quiet", 1, 0],
  ]);
  expect(collector.take()).toEqual([]);
  collector.watch({ all: false, applications: ["quiet"] });
  expect([collector.isWanted("noisy"), collector.isWanted("quiet")]).toEqual([false, true]);
});

/** The topics that a stream has named so far. */
const named = ({ text }: { text: string }) =>
  new Set(
    [...text.matchAll(/^event: changed\ndata: (.*)$/gm)].flatMap(([, topics]) => topics?.split(" ") ?? []),
  );

test("operators are told what else has changed, and an application what of its own has", async () => {
  const { server, app, other } = await platform();
  const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
  const others = watching((await server.get("/public/v1/application/outcomes", other.token)).body);
  const everything = await operatorStream(server);
  const ofOther = await operatorStream(server, `?application_id=${other.id}`);
  const streams = [own, others, everything, ofOther];
  await until(() => streams.every(({ text }) => text !== ""));
  const page = { authorization: `Bearer ${adminKey}`, "onair-page": "http", "sec-fetch-site": "same-origin" };
  await fetch(`${server.app.adminUrl}/console/session`, { method: "POST", headers: page });
  await until(() => named(everything).has("audit"));
  await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { rate_limit: 7 });
  await until(() => [own, everything].every((one) => named(one).has("applications")));
  await subscribe(server, app, ["chat.message.sent"]);
  await until(() => [own, everything].every((one) => named(one).has("subscriptions")));
  await server.load("categories", [{ id: 9, name: "Chess", slug: "chess" }]);
  await until(() => named(everything).has("ranking"));
  expect(named(everything).has("")).toBe(false);
  const ofApplications = ["applications", "subscriptions"];
  expect(ofApplications.filter((topic) => named(others).has(topic) || named(ofOther).has(topic))).toEqual([]);
  expect(["audit", "ranking"].filter((topic) => named(own).has(topic) || named(others).has(topic))).toEqual(
    [],
  );
});

test("operators are told of settings that are read again, and everybody of event types", async () => {
  const { server, app } = await platform();
  const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
  const everything = await operatorStream(server);
  await until(() => [own, everything].every(({ text }) => text !== ""));
  server.app.reload(readConfig(["--rate-limit=77"], {}));
  await until(() => named(everything).has("settings"));
  expect(named(everything).has("event-types")).toBe(false);
  const type = { version: 1, schema: { type: "object" }, example: {} };
  expect((await server.admin("PUT", "/admin/v1/event-types/raffle.won", type)).ok).toBe(true);
  await until(() => [own, everything].every((one) => named(one).has("event-types")));
  expect(named(own).has("settings")).toBe(false);
});

/** Two processes that tell each other everything. */
function twoReplicas() {
  const told: SentNews[] = [];
  const hands: OutcomeListener[] = [];
  const watched: WatchedOutcomes[] = [];
  const replicas: OutcomeStreams[] = [];
  for (const n of [0, 1]) {
    const engine = {
      async watchOutcomes(wanted: WatchedOutcomes) {
        watched[n] = wanted;
      },
      onOutcomes(listener: OutcomeListener) {
        hands[n] = listener;
      },
      broadcast(news: SentNews) {
        told.push(news);
        if (news.kind === "watching" || news.kind === "changed") replicas[1 - n]?.receive(news);
      },
    };
    replicas.push(new OutcomeStreams(engine, 60_000));
  }
  return { replicas, hands, watched, told };
}

test("who looks on at one replica is told that something has changed at another, and nobody else", async () => {
  const { replicas, hands, watched, told } = twoReplicas();
  const [here, there] = replicas;
  if (!here || !there) throw new Error("there are two");
  // Nobody looks on: nothing is told.
  there.changed("audit");
  hands[1]?.([{ application_id: null, outcomes: [outcome(1)], left_out: 0 }], []);
  expect([told, watched[1]]).toEqual([[], undefined as never]);
  const options = { isAllowed: async () => true, cut() {} };
  const operator = watching(await here.open({ applicationId: null, topics: "all", ...options }));
  const own = watching(await here.open({ applicationId: outcome(1).application_id, ...options }));
  const other = watching(await here.open({ applicationId: "another", ...options }));
  expect(watched[1]).toEqual({ all: true, applications: [] });
  await until(() => [operator, own, other].every(({ text }) => text === "retry: 1000\n"));
  there.changed("audit");
  hands[1]?.([{ application_id: null, outcomes: [outcome(1)], left_out: 0 }], []);
  await until(() => operator.text.endsWith("event: changed\ndata: audit deliveries\n\n"));
  await until(() => own.text.endsWith("event: changed\ndata: deliveries\n\n"));
  // More than are named: it may be anybody's.
  hands[1]?.([{ application_id: null, outcomes: [outcome(2)], left_out: 1 }], []);
  await until(() => other.text.endsWith("event: changed\ndata: deliveries\n\n"));
  for (const one of replicas) one.close();
});

test("changes are collected for those who look on, and of very many applications it is not said of which", () => {
  const collector = new OutcomeCollector();
  expect(collector.note("subscriptions", ["a"])).toBe(false);
  collector.watch({ all: false, applications: ["a"] });
  expect([collector.note("subscriptions", ["b"]), collector.note("notices", [])]).toEqual([false, false]);
  expect(collector.note("subscriptions", ["a", "b"])).toBe(true);
  expect(collector.takeChanged()).toEqual([{ topic: "subscriptions", applications: ["a"] }]);
  collector.watch({ all: true, applications: [] });
  expect(collector.note("notices", [])).toBe(true);
  collector.note(
    "applications",
    Array.from({ length: 1_000 }, (_, i) => `a${i}`),
  );
  expect(collector.takeChanged()).toEqual([
    { topic: "notices", applications: [] },
    { topic: "applications", applications: null },
  ]);
  expect(collector.takeChanged()).toEqual([]);
});

test("a slow reader keeps nothing but some outcomes waiting, and one that does not read is cut off", async () => {
  let hand: OutcomeListener = () => {};
  const watched: WatchedOutcomes[] = [];
  const engine = {
    watchOutcomes: async (wanted: WatchedOutcomes) => void watched.push(wanted),
    onOutcomes: (listener: OutcomeListener) => {
      hand = listener;
    },
    broadcast() {},
  };
  const streams = new OutcomeStreams(engine, 50);
  let cuts = 0;
  const options = { isAllowed: async () => true, cut: () => void cuts++ };
  const stream = await streams.open({ applicationId: "a", ...options });
  const reader = stream.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("retry: 1000\n");
  for (let n = 0; n < 100; n++) {
    const outcomes = Array.from({ length: 20 }, (_, i) => outcome(20 * n + i));
    hand([{ application_id: "a", outcomes, left_out: 1 }], []);
  }
  const text = new TextDecoder().decode((await reader.read()).value);
  const { outcomes, left_out } = JSON.parse(text.slice(text.indexOf("data: ") + 6)) as Outcomes;
  expect([outcomes.length, left_out]).toEqual([200, 1_800 + 100]);
  await until(() => cuts === 1);
  expect(watched.at(-1)).toEqual({ all: false, applications: [] });
  streams.close();
  await expect(streams.open({ applicationId: null, ...options })).rejects.toThrow("stopping");
});

test("operators who look on are told of other findings than before; where nobody looks on, nothing is looked for", async () => {
  const finding = { check: "clock", status: "ok", message: "it is right", mend: null } as const;
  let found: Finding[] = [finding];
  let looks = 0;
  const told: string[] = [];
  const streams = { hasOperators: false, changedHere: (topic: string) => void told.push(topic) };
  const look = findingsWatch(async () => {
    looks++;
    return found;
  }, streams);
  await look();
  expect(looks).toBe(0);
  streams.hasOperators = true;
  await look();
  await look();
  expect([looks, told]).toEqual([2, ["findings"]]);
  found = [{ ...finding, status: "wrong" }];
  await look();
  expect(told).toEqual(["findings", "findings"]);
});
