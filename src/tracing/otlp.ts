import { version } from "../runtime/version.ts";
import type { EndedSpan } from "./tracer.ts";

/** The protocol's numbers of span kinds and of the status "error". */
const kinds = { server: 2, client: 3, producer: 4 } as const;
const failed = 2;

const attribute = (key: string, value: string | number) => {
  if (typeof value === "string") return { key, value: { stringValue: value } };
  return { key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } };
};

const resource = {
  attributes: [attribute("service.name", "onair"), attribute("service.version", version)],
};

/** Returns spans in the JSON encoding of OTLP. */
export function otlpBody(spans: readonly EndedSpan[]): string {
  const scopeSpans = [{ scope: { name: "onair", version }, spans: spans.map(otlpSpan) }];
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] });
}

function otlpSpan({ span, name, kind, endedAt, attributes, error }: EndedSpan) {
  const { context, parentId, startedAt } = span;
  const known = Object.entries(attributes).filter(
    (entry): entry is [string, string | number] => entry[1] !== null,
  );
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentId !== null && { parentSpanId: parentId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanosecondsOf(startedAt),
    endTimeUnixNano: nanosecondsOf(endedAt),
    attributes: known.map(([key, value]) => attribute(key, value)),
    ...(error !== null && { status: { code: failed, message: error } }),
  };
}

/** Nanoseconds would exceed the exact integers of a number, so this has microseconds and three zeros. */
function nanosecondsOf(at: number): string {
  return `${Math.round((performance.timeOrigin + at) * 1000)}000`;
}
