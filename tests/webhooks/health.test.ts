import { expect, test } from "bun:test";
import { createLog } from "../../src/log.ts";
import { follow } from "../../src/webhooks/health.ts";
import { Lane } from "../../src/webhooks/lane.ts";
import type { Recorder } from "../../src/webhooks/recorder.ts";
import type { OutcomeClass } from "../../src/webhooks/retry.ts";

const outcomes: readonly [OutcomeClass, boolean][] = [
  ["status", true],
  ["dns", true],
  ["blocked", true],
  ["refused", true],
  ["unreachable", true],
  ["tls", true],
  ["reset", true],
  ["timeout", true],
  ["protocol", true],
  ["too_large", true],
  ["proxy", false],
  ["internal", false],
  ["canceled", false],
];

test.each(outcomes)("an attempt that ended as %s counts against the endpoint: %p", (outcome, counts) => {
  const lane = new Lane("app", 8);
  const kept: unknown[] = [];
  const recorder: Recorder = {
    unrecorded: 0,
    add() {},
    addEndpoint: (endpoint) => kept.push(endpoint),
    settled: async () => {},
    giveUp() {},
  };
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const result = {
    retryAfterMs: null,
    durationMs: 1,
    responseBody: "",
    error: "no",
    timings,
    repeated: false,
  };
  follow(lane, { ...result, class: outcome, status: null }, 1_000, recorder, createLog("off"));
  expect(lane.endpoint?.failing_since ?? null).toBe(counts ? 1_000 : null);
  expect(kept.length).toBe(counts ? 1 : 0);
});
