import { expect, test } from "bun:test";
import { findingsWatch } from "../../../src/api/admin/server.ts";
import { OutcomeStreams } from "../../../src/api/stream/outcome-streams.ts";
import type { EngineObserver } from "../../../src/delivery/engine.ts";
import type { Finding } from "../../../src/domain/findings.ts";
import {
  type DeliveryOutcome,
  OutcomeCollector,
  type WatchedOutcomes,
} from "../../../src/domain/outcomes.ts";
import type { Broadcast } from "../../../src/domain/replicas.ts";
import { type Outcomes, watching } from "../../support/event-stream.ts";
import { until } from "../../support/until.ts";

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

test("outcomes are collected only for watchers; of many there is a sample, with the number of those left out", () => {
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

/** Two processes that tell each other everything. */
function twoReplicas() {
  const told: Broadcast[] = [];
  const hands: EngineObserver["outcomes"][] = [];
  const watched: WatchedOutcomes[] = [];
  const replicas: OutcomeStreams[] = [];
  for (const n of [0, 1]) {
    const engine = {
      async watchOutcomes(wanted: WatchedOutcomes) {
        watched[n] = wanted;
      },
      broadcast(notification: Broadcast) {
        told.push(notification);
        if (notification.kind === "watching" || notification.kind === "changed")
          replicas[1 - n]?.receive(notification);
      },
    };
    const streams = new OutcomeStreams(engine, 60_000);
    replicas.push(streams);
    hands.push((batches, changed) => streams.take(batches, changed));
  }
  return { replicas, hands, watched, told };
}

test("a watcher at one replica is notified of changes at another", async () => {
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

test("a slow reader keeps nothing but some outcomes waiting, and one that does not read is cut off", async () => {
  const watched: WatchedOutcomes[] = [];
  const engine = {
    watchOutcomes: async (wanted: WatchedOutcomes) => void watched.push(wanted),
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
    streams.take([{ application_id: "a", outcomes, left_out: 1 }], []);
  }
  const text = new TextDecoder().decode((await reader.read()).value);
  const { outcomes, left_out } = JSON.parse(text.slice(text.indexOf("data: ") + 6)) as Outcomes;
  expect([outcomes.length, left_out]).toEqual([200, 1_800 + 100]);
  await until(() => cuts === 1);
  expect(watched.at(-1)).toEqual({ all: false, applications: [] });
  streams.close();
  await expect(streams.open({ applicationId: null, ...options })).rejects.toThrow("stopping");
});

test("watching operators are notified of new findings; without a watcher, findings are not computed", async () => {
  const finding = { check: "clock", status: "ok", message: "it is 16:00", advice: null } as const;
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
  found = [{ ...finding, message: "it is 16:01" }];
  await look();
  expect([looks, told]).toEqual([2, []]);
  found = [{ ...finding, status: "wrong" }];
  await look();
  expect(told).toEqual(["findings"]);
  found = [{ ...finding, status: "wrong", message: "it is an hour behind" }];
  await look();
  expect(told).toEqual(["findings", "findings"]);
  // Who comes back reads it anyhow.
  streams.hasOperators = false;
  await look();
  found = [finding];
  streams.hasOperators = true;
  await look();
  expect(told).toEqual(["findings", "findings"]);
});
