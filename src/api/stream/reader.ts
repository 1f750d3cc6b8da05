import type { KeyObject } from "node:crypto";
import { type Application, webhookSecrets } from "../../domain/applications.ts";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import type { Notice } from "../../domain/notices.ts";
import type { Store } from "../../domain/store.ts";
import type { Log } from "../../runtime/log.ts";
import type { Cursors } from "../http/cursors.ts";
import {
  deliveryFrame,
  gapFrame,
  idOf,
  type KnownPosition,
  type LastId,
  noticeFrame,
  opening,
  positionOfId,
  type StreamPosition,
  streamOf,
} from "./frames.ts";
import type { StreamOwner } from "./slots.ts";

export interface StreamReaderOptions {
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

/** The data read for all streams of an owner at one position. */
interface StreamRead {
  readonly owner: StreamOwner;
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

/** Reads the log for event streams. Streams of one owner at the same position share a read and its signatures. */
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
    owner: StreamOwner,
    { lastId, after }: StreamStart,
  ): Promise<{ position: StreamPosition; frames: string }> {
    const { store, cursors, keptMs, now: clock } = this.#options;
    const now = clock();
    const noticeAt = async (time: number) =>
      owner.userId === null ? await store.notices.lastBefore(time) : 0;
    const last = await store.deliveries.last();
    // A number above the last one was issued before the database was restored from a backup.
    const known: KnownPosition | null = lastId === null ? null : positionOfId(cursors, lastId, owner);
    const keptSince = now - keptMs;
    if (known && known.seq <= last && !(await this.#isRewritten(known))) {
      // An old position is valid if no delivery after it was removed.
      const isKept =
        known.at >= keptSince || (await store.deliveries.lastRemoved(owner.applicationId)) <= known.seq;
      if (isKept) {
        const notice = known.notice ?? (await noticeAt(known.at));
        return { position: { ...known, notice }, frames: opening };
      }
    }
    const from = known?.at ?? after ?? now;
    if (!known && from >= now) {
      return { position: { seq: last, at: now, notice: await noticeAt(now + 1) }, frames: opening };
    }
    // Unlike a time, a position shows whether deliveries after it were removed.
    const isWhole =
      !known && (from >= keptSince || (await store.deliveries.lastRemoved(owner.applicationId)) === 0);
    const at = isWhole ? from : Math.max(from, keptSince);
    const position = { seq: await store.deliveries.lastBefore(at), at, notice: await noticeAt(at) };
    if (isWhole) return { position, frames: opening };
    return { position, frames: opening + gapFrame(idOf(cursors, position, owner), from, at) };
  }

  /**
   * Whether a position was issued before the database was restored from a backup, and its number has since been given
   * to another event, which was published later.
   */
  async #isRewritten({ seq, at }: KnownPosition): Promise<boolean> {
    const publishedAt = await this.#options.store.deliveries.publishedUpTo(seq);
    return publishedAt !== null && publishedAt > at;
  }

  /** Reads the deliveries and notices after a position. Streams at the same position share one read. */
  read(owner: StreamOwner, from: StreamPosition): Promise<StreamRead> {
    const key = `${streamOf(owner)} ${from.seq} ${from.notice}`;
    let read = this.#reads.get(key);
    if (!read) {
      if (this.#reads.size === 0) setImmediate(() => this.#reads.clear());
      read = this.#readNow(owner, from);
      this.#reads.set(key, read);
    }
    return read;
  }

  async #readNow(owner: StreamOwner, from: StreamPosition): Promise<StreamRead> {
    const { store, log, keptMs, isTrimmed, now: clock } = this.#options;
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
      return { owner, from, deliveries, notices, gap, position, isAll: isEnd, signed: new Map() };
    } catch (error) {
      log.failure("stream_failed", error, { application_id: applicationId });
      throw error;
    }
  }

  /** Returns the signed frames of a read; null if there are none. */
  signed(
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
