import { type Static, Type } from "@sinclair/typebox";
import { slugForm } from "./categories.ts";
import { type BatchMode, type BatchResult, DomainError } from "./errors.ts";
import { grouped } from "./text.ts";
import { about, Count, Id, nullable, oneLine, Timestamp, webAddress } from "./validation/fields.ts";

/** A user's channel as the platform reports it. */
export const ChannelInput = Type.Object({
  id: about(Id, "Id of the channel."),
  user_id: about(Id, "Id of the user who owns the channel."),
  slug: Type.String({
    ...slugForm,
    description: "Slug of the channel, for URLs; unique.",
  }),
  name: Type.Optional(about(oneLine(1, 200), "Name of the channel; the slug by default.")),
  profile_image: Type.Optional(
    nullable(webAddress(), {
      description: "URL of an image; null for the user's profile picture.",
    }),
  ),
});
export type ChannelInput = Static<typeof ChannelInput>;

export interface Channel {
  readonly id: number;
  readonly user_id: number;
  readonly slug: string;
  readonly name: string;
  /** null for the user's profile picture, or the server's default. */
  readonly profile_image: string | null;
}

export function channelFrom(input: ChannelInput): Channel {
  return {
    id: input.id,
    user_id: input.user_id,
    slug: input.slug.toWellFormed(),
    name: (input.name ?? input.slug).toWellFormed(),
    profile_image: input.profile_image || null,
  };
}

/** A live channel as the platform reports it. */
export const LivestreamInput = Type.Object({
  channel_id: Id,
  category_id: Id,
  viewers: Count,
  title: Type.Optional(nullable(oneLine(0, 500))),
  language: Type.Optional(nullable(oneLine(0, 100))),
  started_at: Type.Optional(Timestamp),
});
export type LivestreamInput = Static<typeof LivestreamInput>;

export interface Livestream {
  readonly channel_id: number;
  readonly category_id: number;
  readonly viewers: number;
  readonly title: string;
  readonly language: string;
  readonly started_at: string;
}

/** `started_at` null: the time of an earlier report of the same stream, or now. */
export type NewLivestream = Omit<Livestream, "started_at"> & { readonly started_at: string | null };

export function livestreamFrom(input: LivestreamInput): NewLivestream {
  return {
    channel_id: input.channel_id,
    category_id: input.category_id,
    viewers: input.viewers,
    title: (input.title ?? "").toWellFormed(),
    language: (input.language ?? "").toWellFormed(),
    started_at: input.started_at ?? null,
  };
}

/** A snapshot needs no confirmation while fewer livestreams than this are live. */
export const confirmedFrom = 20;
/** The default of `confirmAbovePercent`; see `SnapshotEnding`. */
export const defaultConfirmAbovePercent = 50;

/** What a snapshot may end without a confirmation. */
export interface SnapshotEnding {
  /** A snapshot that ends more than this percentage of the livestreams is refused; 0 for no limit. */
  readonly confirmAbovePercent: number;
  /** The channels that were live before the snapshot began. */
  readonly liveBefore: readonly number[];
}

/**
 * Returns which of the live channels a snapshot ends: those that it does not name. Throws `confirmation_required` where
 * it ends too many.
 */
export function endedBySnapshot(
  live: readonly number[],
  named: ReadonlySet<number>,
  { confirmAbovePercent, liveBefore }: SnapshotEnding,
): number[] {
  const ended = live.filter((id) => !named.has(id));
  const before = ended.length + liveBefore.filter((id) => named.has(id)).length;
  const isTooMuch = ended.length * 100 > before * confirmAbovePercent;
  if (confirmAbovePercent === 0 || before < confirmedFrom || !isTooMuch) return ended;
  const share = `${grouped(ended.length)} of ${grouped(before)} livestreams`;
  throw new DomainError(
    "confirmation_required",
    `The snapshot would end ${share}, more than ${confirmAbovePercent} %, so it has ended none. If it is complete, send it again with confirm=true`,
  );
}

/** Which channels a list has. */
export interface ChannelFilter {
  /** The owner; null for any. */
  readonly user_id: number | null;
  /** Only channels of one of these users, or with this slug; null for all. */
  readonly anyOf: { readonly users: readonly number[]; readonly slug: string } | null;
}

/** Channels. Each belongs to a user. */
export interface ChannelStore {
  /** The next channels of a list by ascending id, starting after `after`, as the platform reported them. */
  list(filter: ChannelFilter, after: number, limit: number): Promise<Channel[]>;
  upsert(channels: readonly Channel[], mode?: BatchMode): Promise<BatchResult>;
  /** The next channels by ascending id, starting after `after`, as the platform reported them. */
  page(after: number, limit: number): Promise<Channel[]>;
  /** Removes a channel and ends its livestream. Ignores an unknown id. */
  remove(id: number): Promise<void>;
  /** A channel without a picture gets that of its user. */
  byIds(ids: readonly number[]): Promise<Channel[]>;
}

/** The live channels, each with its category. */
export interface LivestreamStore {
  /** `now` is the `started_at` of a new livestream that has none. */
  upsert(livestreams: readonly NewLivestream[], now: string, mode?: BatchMode): Promise<BatchResult>;
  /**
   * Stores all of these livestreams and ends every other, or changes nothing: throws `BatchRefused`, or
   * `confirmation_required` (see `endedBySnapshot`). Returns the ended channels.
   */
  replaceAll(
    livestreams: readonly NewLivestream[],
    now: string,
    confirmAbovePercent: number,
  ): Promise<readonly number[]>;
  /**
   * Ends every livestream of a channel that is not in `named`, or none: see `endedBySnapshot`. Returns the ended
   * channels.
   */
  endOthers(named: readonly number[], ending: SnapshotEnding): Promise<readonly number[]>;
  /** The next livestreams by ascending id of the channel, starting after `after`. */
  page(after: number, limit: number): Promise<Livestream[]>;
  /** Ends the livestreams of these channels. Ignores channels that are not live. */
  end(channelIds: readonly number[]): Promise<void>;
  all(): Promise<Livestream[]>;
  /** The livestreams of those channels that are live. */
  byChannels(channelIds: readonly number[]): Promise<Livestream[]>;
}
