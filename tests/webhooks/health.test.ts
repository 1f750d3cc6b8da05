import { expect, test } from "bun:test";
import { createLog } from "../../src/log/log.ts";
import { updateEndpoint } from "../../src/webhooks/health.ts";
import { noticesOf } from "../../src/webhooks/notices/notice.ts";
import { EndpointQueue } from "../../src/webhooks/queues/endpoint-queue.ts";
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
  const queue = new EndpointQueue("app", 8);
  const kept: unknown[] = [];
  const recorder = { addEndpoint: (endpoint: unknown) => void kept.push(endpoint) };
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const result = {
    retryAfterMs: null,
    durationMs: 1,
    responseBody: "",
    error: "no",
    timings,
    repeated: false,
  };
  updateEndpoint(queue, { ...result, class: outcome, status: null }, 1_000, {
    recorder,
    notices: noticesOf(false),
    log: createLog("off"),
  });
  expect(queue.endpoint?.failing_since ?? null).toBe(counts ? 1_000 : null);
  expect(kept.length).toBe(counts ? 1 : 0);
});
