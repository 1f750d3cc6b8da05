import type { KeyObject } from "node:crypto";
import { type Application, webhookSecrets } from "../../domain/applications.ts";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Notice } from "../../domain/operations/notices.ts";
import { second } from "../../domain/time.ts";
import { errorFields, type Log } from "../../log/log.ts";
import type { Store } from "../../store/store.ts";
import type { Authenticator } from "../auth.ts";
import type { Caller } from "../caller.ts";
import type { Cursors } from "../cursors.ts";
import { EventStream, type StreamEnding, type StreamPart } from "./event-stream.ts";
import { deliveryFrame, gapFrame, heartbeat, noticeFrame, opening } from "./stream-frames.ts";
import { type StreamOwner, type StreamPlaces, tryAgainLater } from "./stream-places.ts";
import { idOf, type KnownPosition, positionOfId, type StreamPosition, streamOf } from "./stream-position.ts";

interface EventStreamsOptions {
  readonly store: Pick<Store, "deliveries" | "notices">;
  readonly authenticator: Pick<Authenticator, "authenticate" | "changeCount">;
  readonly cursors: Cursors;
  /** The platform's Ed25519 key. */
  readonly signingKey: () => KeyObject;
  readonly log: Log;
  readonly now: () => number;
  readonly places: StreamPlaces;
  /** How long deliveries are kept, and so how far back a stream can start. */
  readonly keptMs: number;
  /** Whether deliveries may be removed sooner than that. */
  readonly isTrimmed: boolean;
  /** The time after which an idle stream sends a heartbeat. */
  readonly heartbeatMs?: number;
  /** The time after which a reader that takes nothing is disconnected. */
  readonly stalledMs?: number;
}

/** The caller and starting point of a new stream. */
interface StreamRequest {
  readonly caller: Caller;
  /** The header `Last-Event-ID`. */
  readonly lastId: string | null;
  /** The publishing time to begin with when there is no id; null begins now. */
  readonly after: number | null;
  /** Verified again before each part is sent. */
  readonly token: string;
  /** Closes the connection soon, although its peer does not read. */
  cut(): void;
}

/** What was read for all streams of an application at one position. */
interface StreamRead {
  readonly owner: StreamOwner;
  readonly from: StreamPosition;
  readonly deliveries: readonly StreamedDelivery[];
  /** About the application itself; behind the deliveries. */
  readonly notices: readonly Notice[];
  /** The range of time that retention has removed before them. */
  readonly gap: { readonly from: StreamPosition; readonly to: number } | null;
  readonly position: StreamPosition;
  readonly isAll: boolean;
  /** Its frames, by the secrets that sign them. */
  readonly signed: Map<string, Uint8Array>;
}

/** Notices that one read takes at most. */
const noticesAtOnce = 50;
/** Applications whose streams are served in one turn of the event loop; requests run in between. */
const wokenAtOnce = 32;
const encoder = new TextEncoder();

/**
 * All open event streams. Each holds only its position: new deliveries are read from the log when the reader has taken
 * the previous ones, so that a slow reader costs no memory. Streams of one application at the same position share what
 * is read and signed for them.
 */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #open = new Map<string, Set<EventStream>>();
  readonly #timer: Timer;
  #count = 0;
  #isClosed = false;
  #changeCount = 0;
  /** Applications with new deliveries. */
  readonly #toWake = new Set<string>();
  /** Reads of this turn of the event loop, by position. */
  #reads = new Map<string, Promise<StreamRead>>();

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    const { heartbeatMs = 15 * second, stalledMs = 30 * second } = options;
    const check = () => this.#check(heartbeatMs, stalledMs);
    this.#timer = setInterval(check, Math.min(second, heartbeatMs, stalledMs));
    this.#timer.unref();
  }

  /** The number of open streams. */
  get count(): number {
    return this.#count;
  }

  /**
   * Opens a stream. Throws `stream_disabled` when the application does not use the stream, `invalid_cursor` for an id
   * of another stream, `rate_limited` when the application has too many streams open, `unavailable` while the server
   * stops.
   */
  async open(request: StreamRequest): Promise<ReadableStream<Uint8Array>> {
    const { caller, token, cut } = request;
    const { application, grant } = caller;
    if (application.delivery === "webhook") {
      const message = "This application gets its events by webhook only; set its delivery to stream or both";
      throw new DomainError("stream_disabled", message);
    }
    const { position, frames } = await this.#start(request);
    await this.#takePlace(grant);
    const streams = this.#open.get(application.id) ?? new Set();
    const stream = new EventStream({
      position,
      opening: encoder.encode(frames),
      next: (from, isReminded) => this.#next(token, from, isReminded),
      ended: (reason) => {
        this.#ended(stream, grant, reason);
        if (reason === "stalled") cut();
      },
    });
    this.#open.set(application.id, streams.add(stream));
    this.#count++;
    return stream.readable;
  }

  /** Wakes the streams of applications with new deliveries. */
  wake(applicationIds: readonly string[]): void {
    const isWaking = this.#toWake.size > 0;
    for (const id of applicationIds) if (this.#open.has(id)) this.#toWake.add(id);
    if (!isWaking && this.#toWake.size > 0) setImmediate(() => this.#wakeSome());
  }

  /** Wakes all streams: it is not known who has new deliveries. */
  wakeAll(): void {
    this.wake([...this.#open.keys()]);
  }

  #wakeSome(): void {
    // Earlier reads may lack the new deliveries.
    this.#reads.clear();
    let count = 0;
    for (const id of this.#toWake) {
      if (count++ === wokenAtOnce) break;
      this.#toWake.delete(id);
      for (const stream of this.#open.get(id) ?? []) stream.wake();
    }
    if (this.#toWake.size > 0) setImmediate(() => this.#wakeSome());
  }

  /** Ends all streams and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const stream of this.#all()) stream.end("stopping");
  }

  #all(): EventStream[] {
    return [...this.#open.values()].flatMap((streams) => [...streams]);
  }

  async #takePlace(owner: StreamOwner): Promise<void> {
    const { places } = this.#options;
    await places.take(owner);
    if (!this.#isClosed) return;
    places.leave(owner);
    throw new DomainError("unavailable", "The server is stopping", tryAgainLater);
  }

  #ended(stream: EventStream, owner: StreamOwner, reason: StreamEnding): void {
    const { applicationId } = owner;
    const streams = this.#open.get(applicationId);
    if (!streams?.delete(stream)) return;
    if (streams.size === 0) this.#open.delete(applicationId);
    this.#count--;
    this.#options.places.leave(owner);
    this.#options.log.info("stream.closed", { application_id: applicationId, reason });
  }

  #check(heartbeatMs: number, stalledMs: number): void {
    const now = performance.now();
    const { changeCount } = this.#options.authenticator;
    // Each woken stream verifies its token again.
    if (changeCount !== this.#changeCount) this.wakeAll();
    this.#changeCount = changeCount;
    // At most a tenth at a time, so that streams opened together spread out.
    let mayRemind = Math.ceil(this.#count / 10);
    for (const stream of this.#all()) {
      const quietMs = now - stream.sentAt;
      if (!stream.isTaken && quietMs >= stalledMs) stream.end("stalled");
      else if (stream.isTaken && quietMs >= heartbeatMs && mayRemind-- > 0) stream.remind();
    }
  }

  /** The first position of a stream, and the frames that state it. */
  async #start(request: StreamRequest): Promise<{ position: StreamPosition; frames: string }> {
    const { store, cursors, keptMs, isTrimmed, now: clock } = this.#options;
    const { grant } = request.caller;
    const now = clock();
    const noticeAt = async (time: number) =>
      grant.userId === null ? await store.notices.lastBefore(time) : 0;
    const last = await store.deliveries.last();
    const known: KnownPosition | null =
      request.lastId === null ? null : positionOfId(cursors, request.lastId, grant);
    const keptSince = now - keptMs;
    // A number above the last one comes from a database that was since restored from a backup.
    if (known && known.seq <= last) {
      // An old position is valid when nothing after it was removed.
      const isKept =
        (!isTrimmed && known.at >= keptSince) ||
        (await store.deliveries.lastRemoved(grant.applicationId)) <= known.seq;
      if (isKept) {
        const notice = known.notice ?? (await noticeAt(known.at));
        return { position: { ...known, notice }, frames: opening };
      }
    }
    const from = known?.at ?? request.after ?? now;
    if (!known && from >= now) {
      return { position: { seq: last, at: now, notice: await noticeAt(now + 1) }, frames: opening };
    }
    const at = Math.max(from, keptSince);
    const position = { seq: await store.deliveries.lastBefore(at), at, notice: await noticeAt(at) };
    if (!known && from === at) return { position, frames: opening };
    return { position, frames: opening + gapFrame(idOf(cursors, position, grant), from, at) };
  }

  /** The part after a position; null when the stream must end. */
  async #next(token: string, from: StreamPosition, isReminded: boolean): Promise<StreamPart | null> {
    const reader = await this.#allowed(token);
    if (!reader) return null;
    const read = await this.#readShared(reader.grant, from);
    // Checked again: access may have changed during the read.
    const caller = await this.#allowed(token);
    if (!caller) return null;
    const { position, isAll } = read;
    const bytes = this.#signed(read, caller.application);
    return { bytes: bytes ?? (isReminded ? encoder.encode(heartbeat) : null), position, isAll };
  }

  /** The current caller; null when it may no longer read the stream. */
  async #allowed(token: string): Promise<Caller | null> {
    const caller = await this.#options.authenticator.authenticate(token).catch(() => null);
    if (!caller?.grant.scopes.includes("events:subscribe")) return null;
    return caller.application.delivery === "webhook" ? null : caller;
  }

  #readShared(owner: StreamOwner, from: StreamPosition): Promise<StreamRead> {
    const key = `${streamOf(owner)} ${from.seq} ${from.notice}`;
    let read = this.#reads.get(key);
    if (!read) {
      if (this.#reads.size === 0) setImmediate(() => this.#reads.clear());
      read = this.#read(owner, from);
      this.#reads.set(key, read);
    }
    return read;
  }

  async #read(owner: StreamOwner, from: StreamPosition): Promise<StreamRead> {
    const { store, log, now: clock } = this.#options;
    const { applicationId, userId } = owner;
    const now = clock();
    try {
      const { deliveries, lost, upTo, isAll } = await store.deliveries.streamed(
        applicationId,
        from.seq,
        userId,
      );
      // A notice is for the application itself, not for its users.
      const notices =
        userId === null && isAll ? await store.notices.behind(applicationId, from.notice, noticesAtOnce) : [];
      const at = isAll ? now : (deliveries.at(-1)?.published_at ?? from.at);
      // Only when retention removed deliveries that the reader had not reached.
      const gap = lost > 0 ? { from, to: Math.max(from.at, deliveries[0]?.published_at ?? now) } : null;
      const position = { seq: upTo, at, notice: notices.at(-1)?.seq ?? from.notice };
      const isEnd = isAll && notices.length < noticesAtOnce;
      return { owner, from, deliveries, notices, gap, position, isAll: isEnd, signed: new Map() };
    } catch (error) {
      log.error("stream_failed", { application_id: applicationId, ...errorFields(error) });
      throw error;
    }
  }

  /** The signed frames of a read; null when there are none. */
  #signed(
    { owner, from, deliveries, notices, gap, position, signed }: StreamRead,
    application: Application,
  ): Uint8Array | null {
    if (deliveries.length === 0 && notices.length === 0 && !gap) return null;
    const { cursors, signingKey, now: clock } = this.#options;
    const now = clock();
    const secrets = webhookSecrets(application, now).join(" ");
    const known = signed.get(secrets);
    if (known) return known;
    const by = { application, signingKey: signingKey(), now };
    const frames = deliveries.map((delivery) => {
      const at = { seq: delivery.seq, at: delivery.published_at, notice: from.notice };
      return deliveryFrame(idOf(cursors, at, owner), delivery, by);
    });
    for (const notice of notices) {
      frames.push(noticeFrame(idOf(cursors, { ...position, notice: notice.seq }, owner), notice, by));
    }
    if (gap) frames.unshift(gapFrame(idOf(cursors, gap.from, owner), gap.from.at, gap.to));
    const bytes = encoder.encode(frames.join(""));
    signed.set(secrets, bytes);
    return bytes;
  }
}
