import { expect, test } from "bun:test";
import { readTraceparent, Tracer, traceparentOf } from "../../../src/runtime/tracing.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

test.each([
  [`00-${traceId}-${spanId}-01`, true],
  [`00-${traceId}-${spanId}-00`, false],
  [`00-${traceId}-${spanId}-03`, true],
  [`cc-${traceId}-${spanId}-01`, true],
  [`cc-${traceId}-${spanId}-01-what-is-to-come`, true],
])("%s is parsed", (header, isSampled) => {
  expect(readTraceparent(header)).toEqual({ traceId, spanId, isSampled });
});

test.each([
  null,
  "",
  "00",
  `00-${traceId}-${spanId}`,
  `00-${traceId}-${spanId}-1`,
  `00-${traceId}-${spanId}-01-more`,
  `cc-${traceId}-${spanId}-01more`,
  `ff-${traceId}-${spanId}-01`,
  `00-${"0".repeat(32)}-${spanId}-01`,
  `00-${traceId}-${"0".repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId.slice(1)}-${spanId}-01`,
  `00-${traceId}-${spanId}-01\r\nx: y`,
  ` 00-${traceId}-${spanId}-01`,
])("%p is invalid and ignored", (header) => {
  expect(readTraceparent(header)).toBeNull();
});

test("a parsed context is written back unchanged", () => {
  for (const flags of ["00", "01"]) {
    const header = `00-${traceId}-${spanId}-${flags}`;
    const read = readTraceparent(header);
    expect(read && traceparentOf(read)).toBe(header);
  }
});

test.each([
  ["no parent, all traces", 1, null, true, true],
  ["no parent, none", 0, null, true, false],
  ["a sampled parent, although none begin here", 0, true, true, true],
  ["a parent that is not sampled", 1, false, true, false],
  ["a stranger's sampled parent", 1, true, false, true],
  ["a stranger's sampled parent where none are chosen", 0, true, false, false],
  ["a stranger's parent that is not sampled", 1, false, false, false],
])("sampled or not: %s", (_, share, parent, isTrusted, isSampled) => {
  const ended: unknown[] = [];
  const tracer = new Tracer((span) => ended.push(span), share);
  const given = parent === null ? null : { traceId, spanId, isSampled: parent };
  const span = tracer.begin(given, isTrusted);
  expect(span.context.isSampled).toBe(isSampled);
  expect(span.context.spanId).toMatch(/^[0-9a-f]{16}$/);
  expect(span.context.spanId).not.toBe(spanId);
  if (given) expect([span.context.traceId, span.parentId]).toEqual([traceId, spanId]);
  else expect(span.context.traceId).toMatch(/^[0-9a-f]{32}$/);
  tracer.end(span, { name: "one", kind: "server", attributes: {}, error: null });
  expect(ended).toHaveLength(isSampled ? 1 : 0);
});

test("traces are sampled by their ids, with the same result in every process", () => {
  const chosen = (share: number) =>
    Array.from({ length: 2_000 }, (_, i) => {
      const id = new Bun.CryptoHasher("sha256").update(`${i}`).digest("hex").slice(0, 32);
      return new Tracer(() => {}, share).beginTrace(id).context.isSampled;
    });
  const some = chosen(0.25);
  expect(some).toEqual(chosen(0.25));
  const count = some.filter(Boolean).length;
  expect(count).toBeGreaterThan(400);
  expect(count).toBeLessThan(600);
});
