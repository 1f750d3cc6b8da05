import type { KeyObject } from "node:crypto";
import type { Application } from "../../domain/applications.ts";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import { isoTime } from "../../domain/time.ts";
import { signedHeaders } from "../../webhooks/attempt.ts";

/*
 * The frames of the event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). A blank line ends a
 * frame. Each frame has data: many client libraries hand a frame without data to the application as an event with empty
 * data, although the specification forbids that. So what is no event has no blank line behind it and is, for a client
 * that splits the stream into frames, the beginning of the next event.
 */

/** How soon a client is asked to come back when its stream has ended. */
const retryMs = 1_000;

/** The first line of a stream. */
export const opening = `retry: ${retryMs}\n`;

/**
 * Shows that the connection is alive: an empty comment. It is short because it counts towards the length of the next
 * event, which some clients bound at 64 KiB.
 */
export const heartbeat = ":\n";

/**
 * A delivery: the headers that its webhook would have now, and the very text of its body, so that whatever verifies a
 * webhook verifies it. JSON leaves no line break in it.
 */
export function deliveryFrame(
  id: string,
  delivery: StreamedDelivery,
  { application, signingKey, now }: { application: Application; signingKey: KeyObject; now: number },
): string {
  const headers = signedHeaders(delivery, application, signingKey, now);
  const data = { headers, body: delivery.event.body };
  return `id: ${id}\nevent: ${delivery.event.name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Says that what was published in this time can no longer be read, as far as there was anything. */
export function gapFrame(id: string, from: number, to: number): string {
  const data = { from: isoTime(from), to: isoTime(to) };
  return `id: ${id}\nevent: gap\ndata: ${JSON.stringify(data)}\n\n`;
}
