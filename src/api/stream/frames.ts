import type { KeyObject } from "node:crypto";
import { signedNoticeHeaders } from "../../delivery/notices.ts";
import { signedHeaders } from "../../delivery/signature.ts";
import { type Application, webhookSecrets } from "../../domain/applications.ts";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Notice } from "../../domain/notices.ts";
import { isoTime } from "../../domain/time.ts";
import type { Cursors } from "../http/cursors.ts";
import type { StreamOwner } from "./slots.ts";

/**
 * A position in the event stream of an application: all deliveries up to `seq` and notices up to `notice` were sent.
 */
export interface StreamPosition {
  /** The number of the delivery. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The number of the notice. */
  readonly notice: number;
}

/** A position whose `notice` is null if its id was made by a version without notices. */
export type KnownPosition = Omit<StreamPosition, "notice"> & { readonly notice: number | null };

/** The id of a position as a client sends it, and where it stands in the request. */
export interface LastId {
  readonly in: "header" | "query";
  readonly field: string;
  readonly text: string;
}

/** Returns the name of an owner's stream. */
export function streamOf({ applicationId, userId }: StreamOwner): string {
  return `stream ${applicationId} ${userId ?? "all"}`;
}

/** Returns the `id` of a position in an owner's stream. */
export function idOf(cursors: Cursors, { seq, at, notice }: StreamPosition, owner: StreamOwner): string {
  return cursors.make([seq, at, notice], streamOf(owner));
}

/** Returns the position of `lastId`. Throws `invalid_cursor` if it is not an id of this stream. */
export function positionOfId(cursors: Cursors, lastId: LastId, owner: StreamOwner): KnownPosition {
  const found = cursors.read(lastId.text);
  if (!found?.isFor(streamOf(owner))) throw unknownId(lastId);
  const [seq, at, notice = null] = found.position as [number, number, number?];
  return { seq, at, notice };
}

function unknownId({ in: place, field }: LastId): DomainError {
  const message = "is not an id of this stream; leave it out to begin with new events";
  const errors = [{ in: place, field, message }];
  return new DomainError("invalid_cursor", `${field} ${message}`, { errors });
}

/*
 * The frames of event streams (https://html.spec.whatwg.org/multipage/server-sent-events.html). A blank line ends a
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

/** Returns a frame. @param data an object is sent as JSON, which has no line breaks */
export function frame(event: string, data: string | object, id?: string): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${text}\n\n`;
}

/** The application whose secrets sign a frame, the platform's key, and the time. */
interface Signing {
  readonly application: Application;
  readonly signingKey: KeyObject;
  readonly now: number;
}

/**
 * Returns a delivery as a frame: the headers that its webhook would have now, and the exact text of its body, so that
 * webhook verifiers accept it.
 */
export function deliveryFrame(
  id: string,
  delivery: StreamedDelivery,
  { application, signingKey, now }: Signing,
): string {
  const headers = signedHeaders(delivery, application, signingKey, now);
  return frame(delivery.event.name, { headers, body: delivery.event.body }, id);
}

/** Returns a notice as a frame of the same form and with the same signatures, without the headers of deliveries. */
export function noticeFrame(id: string, notice: Notice, { application, signingKey, now }: Signing): string {
  const headers = signedNoticeHeaders(notice, webhookSecrets(application, now), signingKey, now);
  return frame(notice.type, { headers, body: notice.body }, id);
}

/** Returns a frame that states that deliveries of this range of time can no longer be read. */
export function gapFrame(id: string, from: number, to: number): string {
  return frame("gap", { from: isoTime(from), to: isoTime(to) }, id);
}
