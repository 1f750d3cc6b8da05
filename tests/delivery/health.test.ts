import { expect, test } from "bun:test";
import { EndpointQueue } from "../../src/delivery/endpoint.ts";
import { noticesOf } from "../../src/delivery/notices.ts";
import { updateEndpoint } from "../../src/delivery/record.ts";
import type { OutcomeClass } from "../../src/delivery/retry.ts";
import type { SendResult } from "../../src/delivery/send/send.ts";
import { hour } from "../../src/domain/time.ts";
import { createLog } from "../../src/runtime/log.ts";

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

function attempted(queue: EndpointQueue, ended: Pick<SendResult, "class" | "status">, at: number): unknown[] {
  const kept: unknown[] = [];
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const result = {
    retryAfterMs: null,
    durationMs: 1,
    responseBody: "",
    error: "no",
    timings,
    repeated: false,
  };
  updateEndpoint(queue, { ...result, ...ended }, at, {
    recorder: { addEndpoint: (endpoint: unknown) => void kept.push(endpoint) },
    notices: noticesOf(false),
    log: createLog("off"),
  });
  return kept;
}

test.each(outcomes)("an attempt that ended as %s counts against the endpoint: %p", (outcome, counts) => {
  const queue = new EndpointQueue("app", 8);
  const kept = attempted(queue, { class: outcome, status: null }, 1_000);
  expect(queue.endpoint?.failing_since ?? null).toBe(counts ? 1_000 : null);
  expect(kept.length).toBe(counts ? 1 : 0);
});

test("successes are kept every five seconds, also when the clock was set back", () => {
  const queue = new EndpointQueue("app", 8);
  const kept = [hour, hour + 4_999, hour + 5_000, 1, 5_000, 5_001].map(
    (at) => attempted(queue, { class: "ok", status: 204 }, at).length,
  );
  expect(kept).toEqual([1, 0, 1, 1, 0, 1]);
  expect(queue.endpoint?.last_success_at).toBe(5_001);
});
