import type { KeyObject } from "node:crypto";
import { type Application, webhookSecrets } from "../../domain/applications.ts";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import { DomainError } from "../../domain/errors.ts";
import { second } from "../../domain/time.ts";
import { errorFields, type Log } from "../../log.ts";
import type { Store } from "../../store/store.ts";
import type { Authenticator } from "../auth.ts";
import type { Caller } from "../caller.ts";
import type { Cursors } from "../cursors.ts";
import { type Ending, EventStream, type StreamPart } from "./event-stream.ts";
import { deliveryFrame, gapFrame, heartbeat, opening } from "./stream-frames.ts";
import { type StreamOwner, type StreamPlaces, tryAgainLater } from "./stream-places.ts";
import { idOf, positionOfId, type StreamPosition, streamOf } from "./stream-position.ts";

interface EventStreamsOptions {
  readonly store: Pick<Store, "deliveries">;
  readonly authenticator: Pick<Authenticator, "authenticate" | "changeCount">;
  readonly cursors: Cursors;
  /** The platform's Ed25519 key. */
  readonly signingKey: () => KeyObject;
  readonly log: Log;
  readonly now: () => number;
  readonly places: StreamPlaces;
  /** For so long everything is kept that a stream can go back to. */
  readonly keptMs: number;
  /** A stream with nothing to say says so after this time. */
  readonly heartbeatMs?: number;
  /** A reader that takes nothing for so long is cut off. */
  readonly stalledMs?: number;
}

/** Who opens a stream, and from where. */
interface StreamRequest {
  readonly caller: Caller;
  /** The header `Last-Event-ID`. */
  readonly lastId: string | null;
  /** Without an id it begins with what was published then or later; null begins now. */
  readonly after: number | null;
  /** It is asked again for its token before anything is sent. */
  readonly token: string;
  /** Has the connection closed soon, although its peer does not take what was sent. */
  cut(): void;
}

/** What was read for the streams of an application that stand at one place. */
interface StreamRead {
  readonly owner: StreamOwner;
  readonly deliveries: readonly StreamedDelivery[];
  /** What is missing before them. */
  readonly gap: { readonly from: StreamPosition; readonly to: number } | null;
  readonly position: StreamPosition;
  readonly isAll: boolean;
  /** Its frames by the secrets that sign them. */
  readonly signed: Map<string, Uint8Array>;
}

/** Applications whose streams go on in one turn of the event loop, some 60 µs for each: requests go in between. */
const wokenAtOnce = 32;
const encoder = new TextEncoder();

/**
 * All open event streams. Each holds its position and nothing else: what is new is read from the log when there is
 * something new and the reader has taken what it was given before, so that a slow one costs no memory. Streams of one
 * application that stand at the same place share what is read and signed for them.
 */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #open = new Map<string, Set<EventStream>>();
  readonly #timer: Timer;
  #count = 0;
  #isClosed = false;
  #changeCount = 0;
  /** Applications that have something new. */
  readonly #toWake = new Set<string>();
  /** What is being read in this turn of the event loop. */
  #reads = new Map<string, Promise<StreamRead>>();

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    const { heartbeatMs = 15 * second, stalledMs = 30 * second } = options;
    const check = () => this.#check(heartbeatMs, stalledMs);
    this.#timer = setInterval(check, Math.min(second, heartbeatMs, stalledMs));
    this.#timer.unref();
  }

  /** How many are open. */
  get count(): number {
    return this.#count;
  }

  /**
   * Opens a stream. Throws `stream_disabled` where the application does not use it, `invalid_cursor` for an id that is
   * not one of this stream, `rate_limited` where the application has too many open, `unavailable` while the server stops.
   */
  async open(asked: StreamRequest): Promise<ReadableStream<Uint8Array>> {
    const { caller, token, cut } = asked;
    const { application, grant } = caller;
    if (application.delivery === "webhook") {
      const message = "This application gets its events by webhook only; ask the platform for its stream";
      throw new DomainError("stream_disabled", message);
    }
    const { position, frames } = await this.#start(asked);
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

  /** These applications have something new. */
  wake(applicationIds: readonly string[]): void {
    const isWaking = this.#toWake.size > 0;
    for (const id of applicationIds) if (this.#open.has(id)) this.#toWake.add(id);
    if (!isWaking && this.#toWake.size > 0) setImmediate(() => this.#wakeSome());
  }

  #wakeSome(): void {
    // What was read before may lack what is new.
    this.#reads.clear();
    let count = 0;
    for (const id of this.#toWake) {
      if (count++ === wokenAtOnce) break;
      this.#toWake.delete(id);
      for (const stream of this.#open.get(id) ?? []) stream.wake();
    }
    if (this.#toWake.size > 0) setImmediate(() => this.#wakeSome());
  }

  /** Ends all streams, and takes no more. */
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

  #ended(stream: EventStream, owner: StreamOwner, reason: Ending): void {
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
    // With its next look at the log each stream has one at its token.
    if (changeCount !== this.#changeCount) this.wake([...this.#open.keys()]);
    this.#changeCount = changeCount;
    // Those that were opened together are not reminded together for ever.
    let mayRemind = Math.ceil(this.#count / 10);
    for (const stream of this.#all()) {
      const quietMs = now - stream.gaveAt;
      if (!stream.isTaken && quietMs >= stalledMs) stream.end("stalled");
      else if (stream.isTaken && quietMs >= heartbeatMs && mayRemind-- > 0) stream.remind();
    }
  }

  /** Where a stream begins, and the frames that say so. */
  async #start(asked: StreamRequest): Promise<{ position: StreamPosition; frames: string }> {
    const { store, cursors, keptMs, now: clock } = this.#options;
    const { grant } = asked.caller;
    const now = clock();
    const last = await store.deliveries.last();
    const known = asked.lastId === null ? null : positionOfId(cursors, asked.lastId, grant);
    const keptSince = now - keptMs;
    // A number that was not given yet is of a database that was since restored from a backup.
    if (known && known.seq <= last) {
      // Long ago is not too long ago where nothing was removed since.
      const isKept =
        known.at >= keptSince || (await store.deliveries.lastRemoved(grant.applicationId)) <= known.seq;
      if (isKept) return { position: known, frames: opening };
    }
    const from = known?.at ?? asked.after ?? now;
    if (!known && from >= now) return { position: { seq: last, at: now }, frames: opening };
    const at = Math.max(from, keptSince);
    const position = { seq: await store.deliveries.lastBefore(at), at };
    if (!known && from === at) return { position, frames: opening };
    return { position, frames: opening + gapFrame(idOf(cursors, position, grant), from, at) };
  }

  /** What comes behind a position; null where nothing more may be sent. */
  async #next(token: string, from: StreamPosition, isReminded: boolean): Promise<StreamPart | null> {
    const asked = await this.#allowed(token);
    if (!asked) return null;
    const read = await this.#readShared(asked.grant, from);
    // Once more: what has changed during the read holds for what is sent now.
    const caller = await this.#allowed(token);
    if (!caller) return null;
    const { position, isAll } = read;
    const bytes = this.#signed(read, caller.application);
    return { bytes: bytes ?? (isReminded ? encoder.encode(heartbeat) : null), position, isAll };
  }

  /** The caller as it is now; null where it may not read the stream any more. */
  async #allowed(token: string): Promise<Caller | null> {
    const caller = await this.#options.authenticator.authenticate(token).catch(() => null);
    if (!caller?.grant.scopes.includes("events:subscribe")) return null;
    return caller.application.delivery === "webhook" ? null : caller;
  }

  #readShared(owner: StreamOwner, from: StreamPosition): Promise<StreamRead> {
    const key = `${streamOf(owner)} ${from.seq}`;
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
      const at = isAll ? now : (deliveries.at(-1)?.published_at ?? from.at);
      // Only where retention has overtaken a reader that was on its way.
      const gap = lost > 0 ? { from, to: Math.max(from.at, deliveries[0]?.published_at ?? now) } : null;
      return { owner, deliveries, gap, position: { seq: upTo, at }, isAll, signed: new Map() };
    } catch (error) {
      log.error("stream_failed", { application_id: applicationId, ...errorFields(error) });
      throw error;
    }
  }

  /** The frames of what was read; null where there are none. */
  #signed({ owner, deliveries, gap, signed }: StreamRead, application: Application): Uint8Array | null {
    if (deliveries.length === 0 && !gap) return null;
    const { cursors, signingKey, now: clock } = this.#options;
    const now = clock();
    const secrets = webhookSecrets(application, now).join(" ");
    const known = signed.get(secrets);
    if (known) return known;
    const frames = deliveries.map((delivery) => {
      const id = idOf(cursors, { seq: delivery.seq, at: delivery.published_at }, owner);
      return deliveryFrame(id, delivery, { application, signingKey: signingKey(), now });
    });
    if (gap) frames.unshift(gapFrame(idOf(cursors, gap.from, owner), gap.from.at, gap.to));
    const bytes = encoder.encode(frames.join(""));
    signed.set(secrets, bytes);
    return bytes;
  }
}
