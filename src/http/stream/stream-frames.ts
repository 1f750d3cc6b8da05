import type { KeyObject } from "node:crypto";
import { type Application, webhookSecrets } from "../../domain/applications.ts";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import type { Notice } from "../../domain/operations/notices.ts";
import { isoTime } from "../../domain/time.ts";
import { signedHeaders } from "../../webhooks/attempt.ts";
import { signedNoticeHeaders } from "../../webhooks/notices/notice.ts";

/*
 * The frames of the event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). A blank line ends a
 * frame. Each frame has data: many client libraries hand a frame without data to the application as an event with empty
 * data, against the specification. So a heartbeat has no blank line after it: for a client that splits the stream into
 * frames, it is the beginning of the next event.
 */

/** The time after which a client should reconnect when the stream has ended. */
const retryMs = 1_000;

/** The first line of a stream. */
export const opening = `retry: ${retryMs}\n`;

/**
 * An empty comment that shows that the connection is alive. It is short because it counts towards the length of the
 * next event, which some clients limit to 64 KiB.
 */
export const heartbeat = ":\n";

/**
 * Returns a delivery as a frame: the headers that its webhook would have now, and the exact text of its body, so that
 * webhook verifiers accept it. The JSON has no line breaks.
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

/** Returns a notice as a frame of the same form and with the same signatures, without the headers of deliveries. */
export function noticeFrame(
  id: string,
  notice: Notice,
  { application, signingKey, now }: { application: Application; signingKey: KeyObject; now: number },
): string {
  const headers = signedNoticeHeaders(notice, webhookSecrets(application, now), signingKey, now);
  return `id: ${id}\nevent: ${notice.type}\ndata: ${JSON.stringify({ headers, body: notice.body })}\n\n`;
}

/** Returns a frame that states that deliveries of this range of time can no longer be read. */
export function gapFrame(id: string, from: number, to: number): string {
  const data = { from: isoTime(from), to: isoTime(to) };
  return `id: ${id}\nevent: gap\ndata: ${JSON.stringify(data)}\n\n`;
}
