import type { TraceContext } from "../domain/deliveries.ts";

/** Later versions may have more fields after these. */
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses the header `traceparent`; returns null if it is absent or invalid. */
export function readTraceparent(header: string | null): TraceContext | null {
  const [, version, traceId, spanId, flags = "", more] = form.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || (version === "00" && more !== undefined)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Returns the value of the header `traceparent`. */
export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}
