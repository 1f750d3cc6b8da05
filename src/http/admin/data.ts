import { type TObject, Type } from "@sinclair/typebox";
import { applyAtomically, applyBatch } from "../../batch/apply.ts";
import type { Intake, PlatformData } from "../../batch/platform-data.ts";
import { CategoryInput } from "../../domain/categories.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { about, Id } from "../../domain/fields.ts";
import { parseJson } from "../../domain/json.ts";
import { ChannelInput } from "../../domain/livestreams.ts";
import { UserInput } from "../../domain/users.ts";
import { problems } from "../../domain/validation.ts";
import type { Store } from "../../store/store.ts";
import { bodyStream, readBytes, requireMediaType } from "../body.ts";
import { reply, replyJson } from "../exchange.ts";
import { answer, Message } from "../public/reference.ts";
import { readParam } from "../query.ts";
import { type AdminListener, adminBodyBytes } from "./base.ts";
import { AtomicQuery, DataReportSchema, exampleReport, isAtomic, replyRows } from "./batch.ts";
import { type AdminErrorCode, adminOperation, closed } from "./reference.ts";

const IdParam = Type.Object({ id: about(Id, "Its id.") });

/** One kind of what the platform reports: how it is called, described, kept, read and deleted. */
interface Resource<Input> {
  readonly one: "user" | "category" | "channel";
  readonly many: "users" | "categories" | "channels";
  readonly tag: string;
  readonly input: TObject;
  /** A record as it is kept. */
  readonly record: TObject;
  readonly example: Readonly<Record<string, unknown>>;
  readonly intake: Intake<Input>;
  readonly page: (after: number, limit: number) => Promise<readonly { readonly id: number }[]>;
  readonly remove: (id: number) => Promise<void>;
  /** What else a deletion takes with it. */
  readonly cascade: string;
  readonly notFound: AdminErrorCode & DomainError["code"];
}

const UserRecord = Type.Object(Type.Required(UserInput).properties, {
  $id: "User",
  description: "A user as it is kept.",
  ...closed,
});
const ChannelRecord = Type.Object(Type.Required(ChannelInput).properties, {
  $id: "Channel",
  description: "A channel as it is kept.",
  ...closed,
});
const TagRecord = Type.Object(
  { id: about(Id, "Id of the tag."), name: Type.String({ description: "Its name." }) },
  { $id: "Tag", description: "A tag of a category.", ...closed },
);
const CategoryRecord = Type.Object(
  {
    ...Type.Required(CategoryInput).properties,
    tags: Type.Array(TagRecord, { description: "Its tags." }),
  },
  { $id: "Category", description: "A category as it is kept.", ...closed },
);

/** Users, categories and channels, as the platform reports them. */
export function dataRoutes(app: AdminListener, store: Store, data: PlatformData): void {
  resourceRoutes(app, {
    one: "user",
    many: "users",
    tag: "Users",
    input: UserInput,
    record: UserRecord,
    example: {
      id: 1001,
      username: "xqcow",
      display_name: "xQcOW",
      bio: "Streams in English.",
      profile_picture: null,
      followers_count: 3246298,
      following_count: 0,
      is_verified: true,
      created_at: "2016-09-15T00:00:00Z",
    },
    intake: data.users,
    page: (after, limit) => store.users.page(after, limit),
    remove: data.removeUser,
    cascade:
      "Channels and livestreams of the user go too, tokens for the user end, and so do the subscriptions to the user's events, whose pending deliveries are canceled.",
    notFound: "user_not_found",
  });
  resourceRoutes(app, {
    one: "category",
    many: "categories",
    tag: "Categories",
    input: CategoryInput,
    record: CategoryRecord,
    example: {
      id: 56,
      name: "Chess",
      slug: "chess",
      icon: null,
      banner: null,
      description: "",
      tags: [{ id: 1, name: "Board game" }],
    },
    intake: data.categories,
    page: (after, limit) => store.categories.page(after, limit),
    remove: data.removeCategory,
    cascade: "Its livestreams end; report them again in another category.",
    notFound: "category_not_found",
  });
  resourceRoutes(app, {
    one: "channel",
    many: "channels",
    tag: "Channels and livestreams",
    input: ChannelInput,
    record: ChannelRecord,
    example: { id: 1001, user_id: 1001, slug: "xqcow", name: "xQcOW", profile_image: null },
    intake: data.channels,
    page: (after, limit) => store.channels.page(after, limit),
    remove: data.removeChannel,
    cascade: "Its livestream ends.",
    notFound: "not_found",
  });
}

function resourceRoutes<Input>(app: AdminListener, resource: Resource<Input>): void {
  recordRoutes(app, resource);
  batchRoutes(app, resource);
}

function recordRoutes<Input>(app: AdminListener, resource: Resource<Input>): void {
  const { one, many, tag, input, record, example, intake, page, remove, cascade, notFound } = resource;
  const path = `/admin/v1/${many}/:id` as const;
  const Name = one.replace(/^./, (letter) => letter.toUpperCase());
  const found = async (id: number) => (await page(id - 1, 1)).find((row) => row.id === id);
  const shown = answer(`The ${one} as it is kept.`, {
    schema: Type.Object(
      { [one]: record, message: Message },
      { $id: `${record.$id}Answer`, description: `One ${one}.`, ...closed },
    ),
    example: { [one]: example, message: "OK" },
  });

  app.get(
    path,
    async ({ exchange, params }) => {
      const row = await found(readParam("id", params.id, Id));
      if (!row) throw new DomainError(notFound, `There is no ${one} with this id`);
      return replyJson(exchange, 200, { [one]: row, message: "OK" });
    },
    adminOperation({
      id: `get${Name}`,
      tag,
      summary: `Get ${Name}`,
      description: `One ${one}, as the platform reported it.`,
      params: IdParam,
      answers: { 200: shown },
      errors: [notFound],
    }),
  );

  const { id: exampleId, ...exampleBody } = example;
  app.put(
    path,
    async ({ exchange, request, params }) => {
      const id = readParam("id", params.id, Id);
      requireMediaType(request, "application/json");
      const body = withId(parseJson(await readBytes(request, adminBodyBytes)), id);
      const wrong = problems(intake.schema, body, { in: "body" });
      if (wrong.length > 0) throw invalidFields(wrong);
      const [refused] = await intake.keep([body as Input]);
      if (refused) throw new DomainError("conflict", refused);
      return replyJson(exchange, 200, { [one]: await found(id), message: "OK" });
    },
    adminOperation({
      id: `put${Name}`,
      tag,
      summary: `Put ${Name}`,
      description: `Makes the ${one}, or replaces the one of this id: what the body leaves out gets its default. The same again changes nothing.`,
      params: IdParam,
      body: {
        json: {
          schema: Type.Omit(input, ["id"], {
            $id: `${record.$id}Input`,
            description: `A ${one} as the platform reports it.`,
          }),
          example: exampleBody,
        },
      },
      answers: { 200: shown },
      errors: ["conflict"],
    }),
  );

  app.delete(
    path,
    async ({ exchange, params }) => {
      await remove(readParam("id", params.id, Id));
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: `delete${Name}`,
      tag,
      summary: `Delete ${Name}`,
      description: `Deletes the ${one}. ${cascade} An id that does not exist changes nothing and is not an error.`,
      params: IdParam,
      answers: { 204: answer(`There is no such ${one} (any more).`) },
    }),
  );
}

function batchRoutes<Input>(app: AdminListener, resource: Resource<Input>): void {
  const { one, many, tag, example, intake, page } = resource;
  const path = `/admin/v1/${many}/batch`;
  const Names = many.replace(/^./, (letter) => letter.toUpperCase());

  app.post(
    path,
    async ({ exchange, request }) => {
      const { read, keep, ignored } = intake;
      const apply = isAtomic(request) ? applyAtomically : applyBatch;
      return replyJson(exchange, 200, await apply(bodyStream(request), read, keep, { ignored }));
    },
    adminOperation({
      id: `put${Names}`,
      tag,
      summary: `Put ${Names}`,
      description: `Makes or replaces many ${many}, one on each line, as they arrive. A line that is wrong is refused, and the rest is kept. Fields that are not known are ignored and counted.`,
      query: AtomicQuery,
      body: { ndjson: { description: `One ${one} on each line.`, example: [example] } },
      answers: { 200: answer("What became of it.", { schema: DataReportSchema, example: exampleReport }) },
      errors: ["body_too_large"],
    }),
  );

  app.get(
    path,
    ({ exchange }) => replyRows(exchange, page, ({ id }) => id),
    adminOperation({
      id: `get${Names}`,
      tag,
      summary: `Get ${Names}`,
      description: `All ${many} as NDJSON by ascending id, in the form in which they can be put again. What changes meanwhile may be in it or not.`,
      answers: { 200: { ...answer(`All ${many}.`), ndjson: [example] } },
    }),
  );
}

/** The body with the id of the path; one of its own must be the same. */
function withId(body: unknown, id: number): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const own = "id" in body ? body.id : id;
  if (own !== id) throw invalidFields([{ in: "body", field: "id", message: "must be the id of the path" }]);
  return { ...body, id };
}
