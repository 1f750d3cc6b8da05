import type { KeyObject } from "node:crypto";
import { type Application, webhookSecrets } from "../../domain/applications.ts";
import type { StreamedDelivery } from "../../domain/deliveries.ts";
import type { Notice } from "../../domain/operations/notices.ts";
import { errorFields, type Log } from "../../log/log.ts";
import type { Store } from "../../store/store.ts";
import type { Cursors } from "../cursors.ts";
import { deliveryFrame, gapFrame, noticeFrame, opening } from "./stream-frames.ts";
import type { StreamOwner } from "./stream-places.ts";
import { idOf, type KnownPosition, positionOfId, type StreamPosition, streamOf } from "./stream-position.ts";

export interface StreamReaderOptions {
  readonly store: Pick<Store, "deliveries" | "notices">;
  readonly cursors: Cursors;
  /** The platform's Ed25519 key. */
  readonly signingKey: () => KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** How long deliveries are kept, and so how far back a stream can start. */
  readonly keptMs: number;
  /** Whether deliveries may be removed sooner than that. */
  readonly isTrimmed: boolean;
}

/** Where a stream begins. */
export interface StreamStart {
  /** The header `Last-Event-ID`. */
  readonly lastId: string | null;
  /** The publishing time to begin with when there is no id; null begins now. */
  readonly after: number | null;
}

/** What was read for all streams of an application at one position. */
interface StreamRead {
  readonly owner: StreamOwner;
  readonly from: StreamPosition;
  readonly deliveries: readonly StreamedDelivery[];
  /** About the application itself; behind the deliveries. */
  readonly notices: readonly Notice[];
  /** The range of time of which something that the reader had not reached is not kept any more. */
  readonly gap: { readonly from: StreamPosition; readonly to: number } | null;
  readonly position: StreamPosition;
  readonly isAll: boolean;
  /** Its frames, by the secrets that sign them. */
  readonly signed: Map<string, Uint8Array>;
}

/** Notices that one read takes at most. */
const noticesAtOnce = 50;
const encoder = new TextEncoder();

/** Reads the log for event streams. Streams of one application at the same position share what is read and signed. */
export class StreamReader {
  readonly #options: StreamReaderOptions;
  /** Reads of this turn of the event loop, by position. */
  readonly #reads = new Map<string, Promise<StreamRead>>();

  constructor(options: StreamReaderOptions) {
    this.#options = options;
  }

  /** Shares no earlier read any more: it may lack new deliveries. */
  forget(): void {
    this.#reads.clear();
  }

  /** The first position of a stream, and the frames that state it. */
  async start(
    owner: StreamOwner,
    { lastId, after }: StreamStart,
  ): Promise<{ position: StreamPosition; frames: string }> {
    const { store, cursors, keptMs, now: clock } = this.#options;
    const now = clock();
    const noticeAt = async (time: number) =>
      owner.userId === null ? await store.notices.lastBefore(time) : 0;
    const last = await store.deliveries.last();
    // A number above the last one comes from a database that was since restored from a backup.
    const known: KnownPosition | null = lastId === null ? null : positionOfId(cursors, lastId, owner);
    const keptSince = now - keptMs;
    if (known && known.seq <= last && !(await this.#isRewritten(known))) {
      // An old position is valid when nothing after it was removed.
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
    // A time says nothing about what was removed before it, a position does.
    const isWhole =
      !known && (from >= keptSince || (await store.deliveries.lastRemoved(owner.applicationId)) === 0);
    const at = isWhole ? from : Math.max(from, keptSince);
    const position = { seq: await store.deliveries.lastBefore(at), at, notice: await noticeAt(at) };
    if (isWhole) return { position, frames: opening };
    return { position, frames: opening + gapFrame(idOf(cursors, position, owner), from, at) };
  }

  /**
   * Whether a position is of a database that was since restored from a backup, which has given the number to an event that
   * was published later.
   */
  async #isRewritten({ seq, at }: KnownPosition): Promise<boolean> {
    const publishedAt = await this.#options.store.deliveries.publishedUpTo(seq);
    return publishedAt !== null && publishedAt > at;
  }

  /** Reads what is behind a position; what several streams ask for at once is read once. */
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
      // Asked behind the read, so that nothing is removed unnoticed between the two.
      const isRemoved =
        (isTrimmed || from.at < now - keptMs) &&
        (await store.deliveries.lastRemoved(applicationId)) > from.seq;
      const gap =
        lost > 0 || isRemoved ? { from, to: Math.max(from.at, deliveries[0]?.published_at ?? now) } : null;
      const position = { seq: upTo, at, notice: notices.at(-1)?.seq ?? from.notice };
      const isEnd = isAll && notices.length < noticesAtOnce;
      return { owner, from, deliveries, notices, gap, position, isAll: isEnd, signed: new Map() };
    } catch (error) {
      log.error("stream_failed", { application_id: applicationId, ...errorFields(error) });
      throw error;
    }
  }

  /** The signed frames of a read; null when there are none. */
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
