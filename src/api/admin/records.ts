import { setImmediate as nextTurn } from "node:timers/promises";
import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { type AuditedChange, valueChanges } from "../../domain/audit.ts";
import { CategoryInput } from "../../domain/categories.ts";
import { DomainError, invalidField } from "../../domain/errors.ts";
import { exampleCategory, exampleChannel, exampleUser } from "../../domain/examples.ts";
import { maxId } from "../../domain/ids.ts";
import { ChannelInput, confirmedFrom, defaultConfirmAbovePercent } from "../../domain/livestreams.ts";
import { grouped } from "../../domain/text.ts";
import { UserInput } from "../../domain/users.ts";
import { about } from "../../domain/validation/fields.ts";
import {
  applyAtomically,
  applyBatch,
  atomicLimits,
  type BatchReport,
  type Intake,
  maxErrors,
} from "../../platform/batches.ts";
import { answer, answerOf, ndjsonLines, noContent } from "../http/answers.ts";
import { type RequestContext, reply } from "../http/context.ts";
import { longBodyStream } from "../http/input.ts";
import { exampleUrl } from "../http/openapi.ts";
import {
  ChoiceParameter,
  IdParameter,
  Message,
  named,
  otherFieldsIgnored,
  WebUrl,
} from "../http/parameters.ts";
import { TagSchema } from "../public/categories.ts";
import { withPicture } from "../public/users.ts";
import { type AdminDeps, type AdminListener, everyRole, whileAllowed, writers } from "./listener.ts";

/*
 * The platform's data: batches of lines and their report, records by id, and livestreams.
 */

/** A boolean query parameter, false by default. */
function flag(description: string) {
  return Type.Optional(
    ChoiceParameter(["true", "false"], {
      errorMessage: "must be true or false",
      default: "false",
      description,
    }),
  );
}

export const AtomicQuery = Type.Object({
  atomic: flag(
    `Applies either all lines or none: if one line is refused, none is stored. The lines are compared with stored data, such as known users, only once each of them has the right form. Lines can swap names and slugs. At most ${atomicLimits.inWords}.`,
  ),
});

export const DataReportSchema = named("DataReport", "The result of a batch.", {
  accepted: Type.Integer({ description: "Number of accepted lines." }),
  rejected: Type.Integer({ description: "Number of refused lines." }),
  errors: Type.Array(
    named("RefusedLine", "A refused line.", {
      line: Type.Integer({ description: "Number of the line, from 1; blank lines count." }),
      message: Type.String({ description: "Reason for the refusal." }),
    }),
    { description: `The first ${grouped(maxErrors)} refused lines.` },
  ),
  ignored_fields: Type.Integer({
    description:
      "Number of unknown fields in all accepted lines. Their values are not stored, so check for misspelt names.",
  }),
});

const RecordsReportSchema = named("RecordsReport", "The result of a batch of records.", {
  ...DataReportSchema.properties,
  duplicate_ids: Type.Integer({
    description:
      "Number of accepted lines with the id of an earlier accepted line, which they replace. Counted for the first 1,000,000 different ids.",
  }),
});

const RecordsReport = answerOf(RecordsReportSchema, {
  description: "The report of the batch.",
  example: {
    accepted: 1,
    rejected: 1,
    ignored_fields: 0,
    duplicate_ids: 0,
    errors: [{ line: 2, message: 'username "one" is taken by user 1' }],
  },
});

/** Stores the lines of an NDJSON body and reports the result. */
async function appliedLines<Input>(
  requestContext: RequestContext,
  intake: Intake<Input>,
  { atomic }: Static<typeof AtomicQuery>,
): Promise<BatchReport> {
  const isAtomic = atomic === "true";
  const apply = isAtomic ? applyAtomically : applyBatch;
  return apply(longBodyStream(requestContext, isAtomic), intake);
}

/** The number of rows in one page of an export. A page blocks the event loop, so it is small. */
const pageSize = 500;

/** Streams all rows as NDJSON, page by page, at the pace of the client. */
function replyRows<Row>(
  requestContext: RequestContext,
  page: (after: number, limit: number) => Promise<readonly Row[]>,
  idOf: (row: Row) => number,
): Response {
  const encoder = new TextEncoder();
  const pages = async function* () {
    for (let after = 0; ; ) {
      await nextTurn(); // lets other requests run between two pages
      const rows = await page(after, pageSize);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = idOf(last);
      yield encoder.encode(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    }
  };
  const headers = { "content-type": "application/x-ndjson" };
  return reply(requestContext, 200, whileAllowed(requestContext, pages()), headers);
}

interface Record {
  readonly id: number;
}

/** A kind of record of the platform's data: users, categories or channels. */
interface RecordKind<Input extends Record, Row extends Record> {
  /** The name in sentences and responses. */
  readonly noun: "user" | "category" | "channel";
  /** The plural in the path. */
  readonly plural: "users" | "categories" | "channels";
  readonly tag: string;
  readonly input: TObject;
  /** Fields of a stored record that differ from the input. */
  readonly stored?: TProperties;
  /** Further fields of the answer with one record, beside the record. */
  readonly beside?: {
    readonly fields: TProperties;
    readonly of: (row: Row) => object;
    /** Those of the example. */
    readonly example: object;
  };
  readonly example: Row;
  readonly missing: "user_not_found" | "category_not_found" | "not_found";
  /** A sentence about the further effects of a deletion. */
  readonly deletion: string;
  /** The name of a record in the audit log. */
  readonly nameOf: (row: Row) => string;
  /** Whether a deleted record is of a person: its name and values are then removed from the audit log. */
  readonly isPersonal?: true;
  readonly rows: { page(after: number, limit: number): Promise<readonly Row[]> };
  readonly intake: Intake<Input>;
  readonly remove: (id: number) => Promise<void>;
}

/** The optional id in a body whose path has the id. */
const OwnId = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: maxId,
    description: "Optional; if present, it must equal the id in the path.",
  }),
);

/** Get, put and delete one record by its id; put and get many as NDJSON. */
function recordRoutes<Input extends Record, Row extends Record>(
  app: AdminListener,
  kind: RecordKind<Input, Row>,
): void {
  const { noun, plural, tag, input, stored, beside, example, missing, deletion, rows, intake, remove } = kind;
  const { nameOf, isPersonal } = kind;
  const [Noun, Plural] = [capitalized(noun), capitalized(plural)] as const;
  const { id: _, ...exampleFields } = example;
  const params = Type.Object({ id: IdParameter(noun, example.id) });
  const body = Type.Object(
    { ...input.properties, id: OwnId },
    {
      $id: `${Noun}Input`,
      description: `A ${noun} to store.`,
      ...otherFieldsIgnored,
      examples: [exampleFields],
    },
  );
  const StoredRecord = named(Noun, `A stored ${noun}.`, { ...Type.Required(input).properties, ...stored });
  const OneRecord = answer(
    // The compiler does not know the name of the field.
    { [noun]: StoredRecord, ...beside?.fields, message: Message } as { message: typeof Message },
    {
      name: `${Noun}Answer`,
      description: `The stored ${noun}.`,
      example: { [noun]: example, ...beside?.example, message: "OK" },
    },
  );

  const rowOf = async (id: number): Promise<Row | null> => {
    const [row] = await rows.page(id - 1, 1);
    return row?.id === id ? row : null;
  };
  const found = async (id: number) => {
    const row = await rowOf(id);
    if (!row) throw new DomainError(missing, `There is no ${noun} with this id`);
    return { [noun]: row, ...beside?.of(row), message: "OK" };
  };
  /** Returns what changed of a record; null when nothing did. */
  const changeOf = (before: Row | null, after: Row | null): AuditedChange | null => {
    const row = after ?? before;
    if (!row) return null;
    if (!after && isPersonal) return { object_name: null, changes: [] };
    const changes = valueChanges(before, after);
    return changes.length === 0 ? null : { object_name: nameOf(row), changes };
  };

  app.get(`/admin/v1/${plural}/:id`, ({ params: { id } }) => found(id), {
    roles: everyRole,
    params,
    response: { 200: OneRecord },
    errors: [missing],
    detail: {
      operationId: `get${Noun}`,
      tags: [tag],
      description: `Returns one ${noun}, as the platform reported it.`,
    },
  });

  app.put(
    `/admin/v1/${plural}/:id`,
    async ({ params: { id }, body, requestContext }) => {
      if (body.id !== undefined && body.id !== id) {
        throw invalidField("body", "id", "must be the id of the path");
      }
      // The body matches the input schema, whose fields are not known here.
      const before = await rowOf(id);
      const [refused] = await intake.keep([{ ...body, id } as Record as Input]);
      if (refused) throw new DomainError("conflict", refused);
      requestContext.change = changeOf(before, await rowOf(id));
      return await found(id);
    },
    {
      roles: writers,
      params,
      body,
      response: { 200: OneRecord },
      errors: ["conflict"],
      detail: {
        operationId: `put${Noun}`,
        tags: [tag],
        description: `Creates the ${noun}, or replaces the one with this id. Fields that the body omits get their defaults. Repeating the request changes nothing.`,
      },
    },
  );

  app.delete(
    `/admin/v1/${plural}/:id`,
    async ({ params: { id }, status, requestContext }) => {
      const before = await rowOf(id);
      await remove(id);
      requestContext.change = changeOf(before, null);
      return status(204, undefined);
    },
    {
      roles: writers,
      params,
      response: { 204: noContent(`There is no ${noun} with this id.`) },
      detail: {
        operationId: `delete${Noun}`,
        tags: [tag],
        description: `Deletes the ${noun}. ${deletion} It is not an error if the id does not exist.`,
      },
    },
  );

  app.post(
    `/admin/v1/${plural}/batch`,
    ({ requestContext, query }) => appliedLines(requestContext, intake, query),
    {
      roles: writers,
      parse: "none",
      query: AtomicQuery,
      response: { 200: RecordsReport },
      errors: ["body_too_large"],
      detail: {
        operationId: `put${Plural}`,
        tags: [tag],
        description: `Creates or replaces ${plural}, one on each line, as the lines arrive. Invalid lines are refused; all others are stored. Of lines with the same id, the last valid one holds. Lines that conflict with stored data, such as a name in use, are tried once more together after the last line, so that names and slugs can be swapped; at most ${atomicLimits.inWords} of them are. Unknown fields are ignored and counted.`,
        ndjson: { description: `One ${noun} on each line.`, example: [example] },
      },
    },
  );

  app.get(
    `/admin/v1/${plural}/batch`,
    ({ requestContext }) => replyRows(requestContext, rows.page, ({ id }) => id),
    {
      roles: everyRole,
      response: { 200: ndjsonLines(`All ${plural}.`, [example]) },
      detail: {
        operationId: `get${Plural}`,
        tags: [tag],
        description: `Returns all ${plural} as NDJSON by ascending id, in the form that Put ${Plural} accepts. Changes made during the export may or may not be included.`,
      },
    },
  );
}

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

const pictureFrom = (publicUrl: () => string) => (user: { readonly profile_picture: string | null }) => ({
  picture: withPicture(user, { publicUrl }).profile_picture,
});

/** Users as the platform reports them. */
export function userRoutes(app: AdminListener, { store, data, publicUrl }: AdminDeps): void {
  recordRoutes(app, {
    noun: "user",
    plural: "users",
    tag: "Users",
    input: UserInput,
    stored: {
      bio: Type.String({
        description: 'Text that the user wrote about themselves; `""` when there is none.',
      }),
    },
    beside: {
      fields: {
        picture: about(WebUrl, "URL of the picture that the public API shows: the user's, or the default."),
      },
      of: pictureFrom(publicUrl),
      example: pictureFrom(() => exampleUrl)(exampleUser),
    },
    example: exampleUser,
    missing: "user_not_found",
    nameOf: ({ username }) => username,
    isPersonal: true,
    deletion:
      "The user's channels with their livestreams, tokens for the user, and subscriptions to the user's events are deleted as well. Pending deliveries of these subscriptions are canceled.",
    rows: store.users,
    intake: data.users,
    remove: data.removeUser,
  });
}

/** Categories as the platform reports them. */
export function categoryRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  recordRoutes(app, {
    noun: "category",
    plural: "categories",
    tag: "Categories",
    input: CategoryInput,
    stored: {
      description: Type.String({ description: 'Description of the category; `""` when there is none.' }),
      tags: Type.Array(TagSchema, { description: "Tags of the category; may be empty." }),
    },
    example: exampleCategory,
    missing: "category_not_found",
    nameOf: ({ name }) => name,
    deletion: "Livestreams in the category end; report them again in another category.",
    rows: store.categories,
    intake: data.categories,
    remove: data.removeCategory,
  });
}

/** Channels as the platform reports them. */
export function channelRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  recordRoutes(app, {
    noun: "channel",
    plural: "channels",
    tag: "Channels and livestreams",
    input: ChannelInput,
    example: exampleChannel,
    missing: "not_found",
    nameOf: ({ slug }) => slug,
    deletion: "The livestream of the channel ends.",
    rows: store.channels,
    intake: data.channels,
    remove: data.removeChannel,
  });
}

const LivestreamsQuery = Type.Object({
  snapshot: flag("Treats the lines as the complete set: all other livestreams end after the last line."),
  confirm: flag(
    `Confirms that a snapshot may end any number of livestreams. Without it, one that would end more than the percentage in \`--confirm-snapshot-above\` (by default ${defaultConfirmAbovePercent}) of at least ${confirmedFrom} livestreams ends none.`,
  ),
  ...AtomicQuery.properties,
});

const example = {
  channel_id: exampleChannel.id,
  category_id: exampleCategory.id,
  viewers: 1234,
  title: "Day 12: the frozen caves",
  language: "en",
  started_at: "2026-01-14T16:08:06Z",
};

const LivestreamsReport = answerOf(
  named("LivestreamsReport", "The result of a batch of livestreams.", {
    ...RecordsReportSchema.properties,
    ended: Type.Integer({ description: "Number of livestreams that the snapshot ended; 0 without one." }),
  }),
  {
    description: "The report of the batch.",
    example: { accepted: 1, rejected: 0, ignored_fields: 0, duplicate_ids: 0, errors: [], ended: 0 },
  },
);

/** Livestreams as the platform reports them: put, end and export. */
export function livestreamRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  app.put(
    "/admin/v1/livestreams",
    async ({ requestContext, query: { snapshot, atomic, confirm } }) => {
      const options = { atomic: atomic === "true", confirmed: confirm === "true" };
      const lines = longBodyStream(requestContext, options.atomic);
      return data.applyLivestreams(lines, snapshot === "true", options);
    },
    {
      roles: writers,
      parse: "none",
      query: LivestreamsQuery,
      response: { 200: LivestreamsReport },
      errors: ["empty_snapshot", "confirmation_required", "body_too_large"],
      detail: {
        operationId: "putLivestreams",
        tags: ["Channels and livestreams"],
        description:
          "Starts or updates livestreams, one on each line. The categories show them within two seconds. Invalid lines are refused; all others are stored. Unknown fields are ignored and counted. A snapshot that is interrupted ends no livestream; a livestream in a refused line with a valid `channel_id` goes on. A snapshot without a valid line is refused and changes nothing. One that would end too many livestreams without `confirm=true` is refused: its valid lines are stored (with `atomic=true` none are), and no livestream ends. The `errors` of these refusals have the first refused lines.",
        ndjson: { description: "One livestream on each line.", example: [example] },
      },
    },
  );

  app.get(
    "/admin/v1/livestreams",
    ({ requestContext }) => replyRows(requestContext, store.livestreams.page, ({ channel_id }) => channel_id),
    {
      roles: everyRole,
      response: { 200: ndjsonLines("All livestreams.", [example]) },
      detail: {
        operationId: "getLivestreams",
        tags: ["Channels and livestreams"],
        description:
          "Returns all livestreams as NDJSON by ascending channel id, in the form that Put Livestreams accepts.",
      },
    },
  );

  app.delete(
    "/admin/v1/livestreams/:channel_id",
    async ({ params: { channel_id }, status, requestContext }) => {
      await data.end([channel_id]);
      requestContext.change = { object_name: null, changes: [] };
      return status(204, undefined);
    },
    {
      roles: writers,
      params: Type.Object({ channel_id: IdParameter("channel", exampleChannel.id) }),
      response: { 204: noContent("The channel is not live.") },
      detail: {
        operationId: "endLivestream",
        tags: ["Channels and livestreams"],
        description: "Ends the livestream of a channel. It is not an error if the channel is not live.",
      },
    },
  );
}
