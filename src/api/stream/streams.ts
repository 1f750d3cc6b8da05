import type { KeyObject } from "node:crypto";
import { signedHeaders, signedNoticeHeaders } from "../../delivery/signature.ts";
import { type Application, webhookSecrets } from "../../domain/applications.ts";
import type { StreamedDelivery, StreamScope, StreamShard } from "../../domain/deliveries.ts";
import { DomainError } from "../../domain/errors.ts";
import type { Notice } from "../../domain/notices.ts";
import type { Store } from "../../domain/store.ts";
import { isoTime, second } from "../../domain/time.ts";
import type { Log } from "../../runtime/log.ts";
import { type Authenticator, needsStream } from "../http/access.ts";
import type { Caller } from "../http/context.ts";
import type { Cursors } from "../http/cursors.ts";
import {
  EventStream,
  frame,
  heartbeat,
  opening,
  type StreamEnding,
  type StreamPart,
} from "./event-stream.ts";

/*
 * The event stream of an application: positions in it, its frames, the limit of open streams, the reader of the log,
 * and the open streams.
 */

/** The owner of a stream: an application, or with a user token one of its users. */
interface StreamOwner {
  readonly applicationId: string;
  /** null for the application's own stream. */
  readonly userId: number | null;
}

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

/** The id of a position as a client sends it, and where it stands in the request. */
export interface LastId {
  readonly in: "header" | "query";
  readonly field: string;
  readonly text: string;
}

/** Returns the name of a stream. Its ids are bound to it. */
export function streamOf({ applicationId, userId, shard }: StreamScope): string {
  return `stream ${applicationId} ${userId ?? "all"}${shard ? ` ${shard.number}/${shard.count}` : ""}`;
}

/** Notices are for the application itself, not for its users. Of a divided stream, the first shard has them. */
function hasNotices({ userId, shard }: StreamScope): boolean {
  return userId === null && (shard === null || shard.number === 1);
}

/** Returns the `id` of a position in a stream. */
export function idOf(cursors: Cursors, { seq, at, notice }: StreamPosition, scope: StreamScope): string {
  return cursors.make([seq, at, notice], streamOf(scope));
}

/** Returns the position of `lastId`. Throws `invalid_cursor` if it is not an id of this stream. */
function positionOfId(cursors: Cursors, lastId: LastId, scope: StreamScope): StreamPosition {
  const found = cursors.read(lastId.text);
  if (!found?.isFor(streamOf(scope))) throw unknownId(lastId);
  const [seq, at, notice] = found.position as [number, number, number];
  return { seq, at, notice };
}

function unknownId({ in: place, field }: LastId): DomainError {
  const message =
    "is not an id of this stream; leave it out to begin with new events, or continue with after, as when the number of shards has changed";
  const errors = [{ in: place, field, message }];
  return new DomainError("invalid_cursor", `${field} ${message}`, { errors });
}

/** Returns a frame that states that deliveries of this range of time can no longer be read. */
function gapFrame(id: string, from: number, to: number): string {
  return frame("gap", { from: isoTime(from), to: isoTime(to) }, id);
}

/** The maximum number of open streams of all applications. */
const maxOpen = 10_000;
/** The details of an error after which the client should try again. */
const tryAgainLater = { retryAfterSeconds: 5 };

/** The part of an application's user streams that a single user may have open. */
const partOfOneUser = 0.05;

/** A limit to which an owner's stream counts. */
interface Share {
  readonly key: string;
  readonly limit: number;
  readonly of: string;
}

/**
 * Limits the open event streams of the process. An application has `limit` streams for itself, and its users have as
 * many together, so that no user takes those of the application or of all other users.
 */
export class StreamSlots {
  readonly #open = new Map<string, number>();
  #count = 0;

  constructor(readonly limit: () => number) {}

  /**
   * Takes a slot. Throws `rate_limited` if the owner has too many streams open, `unavailable` if there are too
   * many in total.
   */
  take(owner: StreamOwner): void {
    const shares = this.#sharesOf(owner);
    const full = shares.find(({ key, limit }) => this.#openOf(key) >= limit);
    if (full) {
      const message = `${full.of} has ${full.limit} event streams open, which is the maximum; close one first`;
      throw new DomainError("rate_limited", message, tryAgainLater);
    }
    if (this.#count >= maxOpen) {
      throw new DomainError("unavailable", "Too many event streams are open", tryAgainLater);
    }
    for (const { key } of shares) this.#open.set(key, this.#openOf(key) + 1);
    this.#count++;
  }

  release(owner: StreamOwner): void {
    for (const { key } of this.#sharesOf(owner)) {
      const open = this.#openOf(key);
      if (open > 1) this.#open.set(key, open - 1);
      else this.#open.delete(key);
    }
    this.#count--;
  }

  #openOf(key: string): number {
    return this.#open.get(key) ?? 0;
  }

  #sharesOf({ applicationId, userId }: StreamOwner): Share[] {
    const limit = this.limit();
    if (userId === null) return [{ key: applicationId, limit, of: "This application" }];
    const ofOne = Math.ceil(limit * partOfOneUser);
    return [
      { key: `${applicationId} ${userId}`, limit: ofOne, of: "This user" },
      { key: `${applicationId} users`, limit, of: "The group of all users of this application" },
    ];
  }
}

interface StreamReaderOptions {
  readonly store: Pick<Store, "deliveries" | "notices">;
  readonly cursors: Cursors;
  /** The platform's Ed25519 key. */
  readonly signingKey: () => KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** The time for which deliveries are kept, and so the earliest start of a stream. */
  readonly keptMs: number;
  /** Whether deliveries may be removed sooner than that. */
  readonly isTrimmed: boolean;
}

/** The start of a stream, as requested. */
export interface StreamStart {
  /** The id after which the stream continues. */
  readonly lastId: LastId | null;
  /** The publishing time to begin with if there is no id; null for new events only. */
  readonly after: number | null;
}

/** The data read for all streams of a scope at one position. */
interface StreamRead {
  readonly scope: StreamScope;
  readonly from: StreamPosition;
  readonly deliveries: readonly StreamedDelivery[];
  /** Notices about the application itself, sent after the deliveries. */
  readonly notices: readonly Notice[];
  /** The range of time in which deliveries were removed before the client had received them. */
  readonly gap: { readonly from: StreamPosition; readonly to: number } | null;
  readonly position: StreamPosition;
  readonly isAll: boolean;
  /** The frames, by the secrets that sign them. */
  readonly signed: Map<string, Uint8Array>;
}

/** The maximum number of notices in one read. */
const noticesAtOnce = 50;
const encoder = new TextEncoder();

/** Reads the log for event streams. Streams of one scope at the same position share a read and its signatures. */
export class StreamReader {
  readonly #options: StreamReaderOptions;
  /** Reads of this tick of the event loop, by position. */
  readonly #reads = new Map<string, Promise<StreamRead>>();

  constructor(options: StreamReaderOptions) {
    this.#options = options;
  }

  /** Forgets earlier reads, which may lack new deliveries. */
  forget(): void {
    this.#reads.clear();
  }

  /** Returns the first position of a stream, and its first frames. */
  async start(
    scope: StreamScope,
    { lastId, after }: StreamStart,
  ): Promise<{ position: StreamPosition; frames: string }> {
    const { store, cursors, keptMs, now: clock } = this.#options;
    const now = clock();
    const noticeAt = async (time: number) => (hasNotices(scope) ? await store.notices.lastBefore(time) : 0);
    const last = await store.deliveries.last();
    // A number above the last number was issued before the database was restored from a backup.
    const known: StreamPosition | null = lastId === null ? null : positionOfId(cursors, lastId, scope);
    const keptSince = now - keptMs;
    if (known && known.seq <= last && !(await this.#isRewritten(known))) {
      // An old position is valid if no delivery after it was removed.
      const isKept =
        known.at >= keptSince || (await store.deliveries.lastRemoved(scope.applicationId)) <= known.seq;
      if (isKept) return { position: known, frames: opening };
    }
    const from = known?.at ?? after ?? now;
    if (!known && from >= now) {
      return { position: { seq: last, at: now, notice: await noticeAt(now + 1) }, frames: opening };
    }
    // Unlike a time, a position shows whether deliveries after it were removed.
    const isWhole =
      !known && (from >= keptSince || (await store.deliveries.lastRemoved(scope.applicationId)) === 0);
    const at = isWhole ? from : Math.max(from, keptSince);
    const position = { seq: await store.deliveries.lastBefore(at), at, notice: await noticeAt(at) };
    if (isWhole) return { position, frames: opening };
    return { position, frames: opening + gapFrame(idOf(cursors, position, scope), from, at) };
  }

  /**
   * Whether a position was issued before the database was restored from a backup, and its number has since been given
   * to another event, which was published later.
   */
  async #isRewritten({ seq, at }: StreamPosition): Promise<boolean> {
    const publishedAt = await this.#options.store.deliveries.publishedUpTo(seq);
    return publishedAt !== null && publishedAt > at;
  }

  /** Reads the deliveries and notices after a position. Streams at the same position share one read. */
  read(scope: StreamScope, from: StreamPosition): Promise<StreamRead> {
    const key = `${streamOf(scope)} ${from.seq} ${from.notice}`;
    let read = this.#reads.get(key);
    if (!read) {
      if (this.#reads.size === 0) setImmediate(() => this.#reads.clear());
      read = this.#readNow(scope, from);
      this.#reads.set(key, read);
    }
    return read;
  }

  async #readNow(scope: StreamScope, from: StreamPosition): Promise<StreamRead> {
    const { store, log, keptMs, isTrimmed, now: clock } = this.#options;
    const { applicationId } = scope;
    const now = clock();
    try {
      const { deliveries, lost, upTo, isAll } = await store.deliveries.streamed(scope, from.seq);
      const notices =
        hasNotices(scope) && isAll
          ? await store.notices.following(applicationId, from.notice, noticesAtOnce)
          : [];
      // Another replica's clock may be ahead: the id of a notice must not look as if its number were rewritten.
      const publishedAt = notices.length > 0 ? await store.deliveries.publishedUpTo(upTo) : null;
      const at = isAll ? Math.max(now, publishedAt ?? 0) : (deliveries.at(-1)?.published_at ?? from.at);
      // Checked after the read, so that a removal between the two is noticed.
      const isRemoved =
        (isTrimmed || from.at < now - keptMs) &&
        (await store.deliveries.lastRemoved(applicationId)) > from.seq;
      const gap =
        lost > 0 || isRemoved ? { from, to: Math.max(from.at, deliveries[0]?.published_at ?? now) } : null;
      const position = { seq: upTo, at, notice: notices.at(-1)?.seq ?? from.notice };
      const isEnd = isAll && notices.length < noticesAtOnce;
      return { scope, from, deliveries, notices, gap, position, isAll: isEnd, signed: new Map() };
    } catch (error) {
      log.failure("stream_failed", error, { application_id: applicationId });
      throw error;
    }
  }

  /**
   * Returns the frames of a read; null if there are none. Each has the headers that a webhook would have now, and the
   * exact text of its body, so that code that verifies webhooks accepts it.
   */
  signed(
    { scope, from, deliveries, notices, gap, position, signed }: StreamRead,
    application: Application,
  ): Uint8Array | null {
    if (deliveries.length === 0 && notices.length === 0 && !gap) return null;
    const { cursors, signingKey, now: clock } = this.#options;
    const now = clock();
    const secrets = webhookSecrets(application, now);
    const known = signed.get(secrets.join(" "));
    if (known) return known;
    const key = signingKey();
    const frames = gap ? [gapFrame(idOf(cursors, gap.from, scope), gap.from.at, gap.to)] : [];
    for (const delivery of deliveries) {
      const { event, seq, published_at: at } = delivery;
      const headers = signedHeaders(delivery, application, key, now);
      const id = idOf(cursors, { seq, at, notice: from.notice }, scope);
      frames.push(frame(event.name, { headers, body: event.body }, id));
    }
    for (const notice of notices) {
      const headers = signedNoticeHeaders(notice, secrets, key, now);
      const id = idOf(cursors, { ...position, notice: notice.seq }, scope);
      frames.push(frame(notice.type, { headers, body: notice.body }, id));
    }
    const bytes = encoder.encode(frames.join(""));
    signed.set(secrets.join(" "), bytes);
    return bytes;
  }
}

interface EventStreamsOptions extends StreamReaderOptions {
  readonly authenticator: Pick<Authenticator, "authenticate" | "changeCount">;
  readonly slots: StreamSlots;
  /** The time after which an idle stream sends a heartbeat. */
  readonly heartbeatMs?: number;
  /** The time after which a reader that takes nothing is disconnected. */
  readonly stalledMs?: number;
}

/** The caller and starting point of a new stream. */
interface StreamRequest extends StreamStart {
  readonly caller: Caller;
  readonly shard: StreamShard | null;
  /** Verified again before each part is sent. */
  readonly token: string;
  /** Closes the connection soon, even if the client does not read. */
  cut(): void;
}

/**
 * After this many streams, no further application is woken in the same tick of the event loop. Each shard of a stream
 * has its own read, and requests run between ticks.
 */
const wokenAtOnce = 32;

/**
 * All open event streams. Each holds only its position: new deliveries are read from the log when the reader has taken
 * the previous deliveries, so that a slow reader costs no memory.
 */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #reader: StreamReader;
  readonly #open = new Map<string, Set<EventStream<StreamPosition>>>();
  readonly #timer: Timer;
  #count = 0;
  #isClosed = false;
  #changeCount = 0;
  /** Applications with new deliveries. */
  readonly #toWake = new Set<string>();

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#reader = new StreamReader(options);
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
   * Opens a stream of an application that uses the event stream. Throws `invalid_cursor` for an id of another stream,
   * `rate_limited` when the application has too many streams open, `unavailable` while the server stops.
   */
  async open(request: StreamRequest): Promise<ReadableStream<Uint8Array>> {
    const { caller, shard, token, cut } = request;
    const { application, grant } = caller;
    const { position, frames } = await this.#reader.start({ ...grant, shard }, request);
    if (this.#isClosed) throw new DomainError("unavailable", "The server is stopping", tryAgainLater);
    this.#options.slots.take(grant);
    const streams = this.#open.get(application.id) ?? new Set();
    const stream = new EventStream({
      position,
      opening: encoder.encode(frames),
      next: (from, isReminded) => this.#next({ token, shard }, from, isReminded),
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

  /** Wakes all streams, when the applications with new deliveries are not known. */
  wakeAll(): void {
    this.wake([...this.#open.keys()]);
  }

  #wakeSome(): void {
    this.#reader.forget();
    let count = 0;
    for (const id of this.#toWake) {
      if (count >= wokenAtOnce) break;
      this.#toWake.delete(id);
      const streams = this.#open.get(id) ?? new Set();
      for (const stream of streams) stream.wake();
      count += streams.size;
    }
    if (this.#toWake.size > 0) setImmediate(() => this.#wakeSome());
  }

  /** Ends all streams and refuses new streams. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const stream of this.#all()) stream.end("stopping");
  }

  #all(): EventStream<StreamPosition>[] {
    return [...this.#open.values()].flatMap((streams) => [...streams]);
  }

  #ended(stream: EventStream<StreamPosition>, owner: StreamOwner, reason: StreamEnding): void {
    const { applicationId } = owner;
    const streams = this.#open.get(applicationId);
    if (!streams?.delete(stream)) return;
    if (streams.size === 0) this.#open.delete(applicationId);
    this.#count--;
    this.#options.slots.release(owner);
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

  /** Returns the part after a position; null if the stream must end. */
  async #next(
    { token, shard }: Pick<StreamRequest, "token" | "shard">,
    from: StreamPosition,
    isReminded: boolean,
  ): Promise<StreamPart<StreamPosition> | null> {
    const before = await this.#allowed(token);
    if (!before) return null;
    const read = await this.#reader.read({ ...before.grant, shard }, from);
    // Checked again: access may have changed during the read.
    const caller = await this.#allowed(token);
    if (!caller) return null;
    const { position, isAll } = read;
    const bytes = this.#reader.signed(read, caller.application);
    return { bytes: bytes ?? (isReminded ? encoder.encode(heartbeat) : null), position, isAll };
  }

  /** Returns the current caller; null if it may no longer read the stream. */
  async #allowed(token: string): Promise<Caller | null> {
    try {
      const caller = await this.#options.authenticator.authenticate(token);
      needsStream(caller);
      return caller;
    } catch {
      return null;
    }
  }
}
