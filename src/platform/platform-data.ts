import { type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { CategoryInput, categoryFrom } from "../domain/categories.ts";
import { DomainError, type FieldProblem, invalidFields } from "../domain/errors.ts";
import {
  ChannelInput,
  channelFrom,
  defaultConfirmAbovePercent,
  LivestreamInput,
  livestreamFrom,
} from "../domain/livestreams.ts";
import type { Store } from "../domain/store.ts";
import { grouped } from "../domain/text.ts";
import { isoTime } from "../domain/time.ts";
import { UserInput, userFrom } from "../domain/users.ts";
import { timesInUtc, unknownFields } from "../domain/validation/fields.ts";
import { parseJson } from "../domain/validation/json.ts";
import { problems } from "../domain/validation/problems.ts";
import { applyAtomically, applyBatch, type BatchReport, type Intake, type Keep } from "./batches.ts";
import type { Ranking } from "./ranking.ts";

export const dataKinds = ["users", "categories", "channels", "livestreams"] as const;
export type DataKind = (typeof dataKinds)[number];

const schemas = {
  users: UserInput,
  categories: CategoryInput,
  channels: ChannelInput,
  livestreams: LivestreamInput,
};

/** Returns the value, with its times in UTC, if it fits the schema; throws `invalid_parameter`. */
function checked<Input>(schema: TSchema, value: unknown): Input {
  const wrong = problems(schema, value, { in: "body" });
  if (wrong.length > 0) throw invalidFields(wrong);
  return timesInUtc(schema, value as Input);
}

/**
 * Returns the kind of a line that is certainly not of the kind for which it is given: the line is valid there, and here
 * it is invalid or has unknown fields, which the other kind knows. Null for any other line.
 */
export function otherKindOf(line: string, kind: DataKind): DataKind | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  const isOf = (candidate: DataKind) => problems(schemas[candidate], value, { in: "body" }).length === 0;
  const isForeign = (other: DataKind) =>
    isOf(other) &&
    (!isOf(kind) || (unknownFields(schemas[kind], value) > 0 && unknownFields(schemas[other], value) === 0));
  return dataKinds.find((other) => other !== kind && isForeign(other)) ?? null;
}

function reader<Input>(schema: TSchema): Intake<Input>["read"] {
  return (bytes) => checked(schema, parseJson(bytes, "line"));
}

/** The part of a livestream that names its channel. */
const namesChannel = Type.Pick(LivestreamInput, ["channel_id"]);

const refusedLines = ({ errors }: BatchReport): FieldProblem[] =>
  errors.map(({ line, message }) => ({ in: "body", field: `line ${line}`, message }));

/** The error for a snapshot without a valid line, which changed nothing. */
function emptySnapshot(report: BatchReport): DomainError {
  const lines = report.rejected === 0 ? "no line" : "no valid line";
  return new DomainError(
    "empty_snapshot",
    `The snapshot has ${lines}; nothing was changed. To end one livestream: DELETE /admin/v1/livestreams/{channel_id}`,
    {
      errors: refusedLines(report),
    },
  );
}

/** The result of a batch of livestreams. */
interface LivestreamReport extends BatchReport {
  /** The number of livestreams that a snapshot ended. */
  readonly ended: number;
}

interface LivestreamOptions {
  readonly atomic?: boolean;
  readonly groupSize?: number;
  /** Whether the snapshot may end any number of livestreams. */
  readonly confirmed?: boolean;
}

/** Reads data again that other servers may have changed since. */
export interface Follower {
  changed(kind: "categories" | "livestreams", ids: readonly number[]): void;
}

interface PlatformDataOptions {
  readonly store: Store;
  readonly ranking: Ranking;
  readonly now: () => number;
  /** See `SnapshotEnding`. */
  readonly confirmAbovePercent?: number;
  /** Reads changed data again, because other processes may have changed it later; null without replicas. */
  readonly follower?: Follower | null;
}

/** The most livestreams of a transaction. Their rows are small, and smaller transactions would need more syncs. */
const livestreamGroup = 500;

/** Returns the writer of the platform's data. It stores data first and then updates the parts in memory. */
export function platformData({
  store,
  ranking,
  now,
  confirmAbovePercent = defaultConfirmAbovePercent,
  follower = null,
}: PlatformDataOptions) {
  const putLive = (livestreams: readonly LivestreamInput[]): void => {
    ranking.putLive(livestreams);
    follower?.changed(
      "livestreams",
      livestreams.map(({ channel_id }) => channel_id),
    );
  };
  const endLive = (channelIds: readonly number[]): void => {
    ranking.endLive(channelIds);
    follower?.changed("livestreams", channelIds);
  };
  const intake = <Input>(kind: DataKind, keep: Keep<Input>): Intake<Input> => {
    const schema = schemas[kind];
    return { read: reader(schema), keep, ignored: (input) => unknownFields(schema, input) };
  };
  /** The intake of rows with unique names, which may be swapped. */
  const namedIntake = <Input extends { readonly id: number }>(kind: DataKind, keep: Keep<Input>) => ({
    ...intake(kind, keep),
    idOf: ({ id }: Input) => id,
    isNamed: true,
  });
  /** Ends these livestreams; those that are not live are ignored. */
  const end = async (channelIds: readonly number[]): Promise<void> => {
    for (let start = 0; start < channelIds.length; start += livestreamGroup) {
      const group = channelIds.slice(start, start + livestreamGroup);
      await store.livestreams.end(group);
      endLive(group);
    }
  };
  const livestreams = {
    ...intake<LivestreamInput>("livestreams", async (items, mode) => {
      const results = await store.livestreams.upsert(items.map(livestreamFrom), isoTime(now()), mode);
      putLive(items.filter((_, i) => results[i] === null));
      return results;
    }),
    idOf: ({ channel_id }: LivestreamInput) => channel_id,
  };
  /** Replaces the livestreams by a snapshot, all or nothing. */
  const replaceLivestreams = async (stream: AsyncIterable<Uint8Array>, confirmAbovePercent: number) => {
    let ended: readonly number[] = [];
    const keep: Keep<LivestreamInput> = async (items) => {
      if (items.length === 0) return [];
      const rows = items.map(livestreamFrom);
      ended = await store.livestreams.replaceAll(rows, isoTime(now()), confirmAbovePercent);
      putLive(items);
      endLive(ended);
      return items.map(() => null);
    };
    let lines = 0;
    const read = (bytes: Uint8Array) => {
      lines++;
      return livestreams.read(bytes);
    };
    const report = await applyAtomically(stream, { ...livestreams, read, keep });
    if (report.rejected >= lines) throw emptySnapshot(report);
    return { ...report, ended: ended.length };
  };
  /** Puts the livestreams of a snapshot as they arrive; after its last line, ends those that it does not name. */
  const putSnapshot = async (
    stream: AsyncIterable<Uint8Array>,
    confirmAbovePercent: number,
    groupSize: number,
  ): Promise<LivestreamReport> => {
    const liveBefore = ranking.liveChannelIds();
    const named = new Set<number>();
    const read = (bytes: Uint8Array) => {
      const value = parseJson(bytes, "line");
      // A refused line names its channel, too: it says that the channel is live.
      if (Value.Check(namesChannel, value)) named.add(value.channel_id);
      return checked<LivestreamInput>(schemas.livestreams, value);
    };
    const report = await applyBatch(stream, { ...livestreams, read }, groupSize);
    if (report.accepted === 0) throw emptySnapshot(report);
    try {
      const ended = await store.livestreams.endOthers([...named], { confirmAbovePercent, liveBefore });
      endLive(ended);
      return { ...report, ended: ended.length };
    } catch (error) {
      if (!(error instanceof DomainError && error.code === "confirmation_required")) throw error;
      const message = `${error.message}. Its valid lines (${grouped(report.accepted)}) are stored.`;
      throw new DomainError(error.code, message, { errors: refusedLines(report) });
    }
  };
  return {
    /** The live order of categories, for reading. */
    ranking,
    users: namedIntake<UserInput>("users", async (items, mode) => {
      const results = await store.users.upsert(items.map(userFrom), isoTime(now()), mode);
      ranking.touch();
      return results;
    }),
    categories: namedIntake<CategoryInput>("categories", async (items, mode) => {
      const results = await store.categories.upsert(items.map(categoryFrom), mode);
      const taken = items.filter((_, i) => results[i] === null).map(({ id }) => id);
      ranking.putCategories(await store.categories.byIds(taken));
      follower?.changed("categories", taken);
      return results;
    }),
    channels: namedIntake<ChannelInput>("channels", async (items, mode) => {
      const results = await store.channels.upsert(items.map(channelFrom), mode);
      ranking.touch();
      return results;
    }),
    livestreams,
    end,
    /** Deletes a user with all data of the user, as in `store.users.remove`. */
    async removeUser(id: number): Promise<void> {
      const { channelIds } = await store.users.remove(id, now());
      endLive(channelIds);
      ranking.touch();
    },
    /** Deletes a category and ends its livestreams. */
    async removeCategory(id: number): Promise<void> {
      const channelIds = await store.categories.remove(id);
      endLive(channelIds);
      ranking.removeCategories([id]);
      follower?.changed("categories", [id]);
    },
    /** Deletes a channel and ends its livestream. */
    async removeChannel(id: number): Promise<void> {
      await store.channels.remove(id);
      endLive([id]);
      ranking.touch();
    },
    /**
     * Applies a stream of livestreams. A snapshot is the complete set: livestreams that are not in it end, after its
     * last line, so that an interrupted snapshot ends none. Throws `empty_snapshot` for a snapshot without a valid
     * line, and `confirmation_required` for one that ends too many livestreams.
     */
    async applyLivestreams(
      stream: AsyncIterable<Uint8Array>,
      snapshot: boolean,
      { atomic = false, groupSize = livestreamGroup, confirmed = false }: LivestreamOptions = {},
    ): Promise<LivestreamReport> {
      const limit = confirmed ? 0 : confirmAbovePercent;
      if (snapshot && atomic) return replaceLivestreams(stream, limit);
      if (snapshot) return putSnapshot(stream, limit, groupSize);
      const report = atomic
        ? await applyAtomically(stream, livestreams)
        : await applyBatch(stream, livestreams, groupSize);
      return { ...report, ended: 0 };
    },
  };
}

export type PlatformData = ReturnType<typeof platformData>;
