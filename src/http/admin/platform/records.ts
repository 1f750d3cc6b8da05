import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import type { Intake } from "../../../batch/platform-data.ts";
import { DomainError, invalidFields } from "../../../domain/errors.ts";
import { maxId } from "../../../domain/ids.ts";
import { answer, ndjsonLines, noContent } from "../../answers.ts";
import { Message, named, otherFieldsIgnored } from "../../fields.ts";
import { IdParameter } from "../../parameters.ts";
import { everyRole, writers } from "../access.ts";
import type { AdminListener } from "../base.ts";
import { AtomicQuery, appliedLines, DataReport, replyRows } from "./batch.ts";

interface Record {
  readonly id: number;
}

/** A noun of the platform's data that has an id: users, categories and channels. */
interface RecordKind<Input extends Record, Row extends Record> {
  /** Its name in sentences and answers, and its plural, which is in the path. */
  readonly noun: "user" | "category" | "channel";
  readonly plural: "users" | "categories" | "channels";
  readonly tag: string;
  readonly input: TObject;
  /** Fields of the record as it is kept that are not as in the input. */
  readonly kept?: TProperties;
  readonly example: Row;
  readonly missing: "user_not_found" | "category_not_found" | "not_found";
  /** What else its deletion does. */
  readonly deletion: string;
  readonly rows: { page(after: number, limit: number): Promise<readonly Row[]> };
  readonly intake: Intake<Input>;
  readonly remove: (id: number) => Promise<void>;
}

/** The optional id in a body whose path has the id. */
const OwnId = Type.Optional(
  Type.Integer({ minimum: 1, maximum: maxId, description: "May be left out; else that of the path." }),
);

/** Get, put and delete one record by its id; put and get many as NDJSON. */
export function recordRoutes<Input extends Record, Row extends Record>(
  app: AdminListener,
  kind: RecordKind<Input, Row>,
): void {
  const { noun, plural, tag, input, kept, example, missing, deletion, rows, intake, remove } = kind;
  const [Noun, Plural] = [capitalized(noun), capitalized(plural)] as const;
  const { id: _, ...exampleFields } = example;
  const params = Type.Object({ id: IdParameter(noun, example.id) });
  const body = Type.Object(
    { ...input.properties, id: OwnId },
    {
      $id: `${Noun}Input`,
      description: `A ${noun} as the platform reports it.`,
      ...otherFieldsIgnored,
      examples: [exampleFields],
    },
  );
  const KeptRecord = named(Noun, `A ${noun} as it is kept.`, { ...Type.Required(input).properties, ...kept });
  const OneRecord = answer(
    // The compiler cannot know the name of the field.
    { [noun]: KeptRecord, message: Message } as { message: typeof Message },
    {
      name: `${Noun}Answer`,
      description: `The ${noun} as it is kept.`,
      example: { [noun]: example, message: "OK" },
    },
  );

  const found = async (id: number) => {
    const [row] = await rows.page(id - 1, 1);
    if (row?.id !== id) throw new DomainError(missing, `There is no ${noun} with this id`);
    return { [noun]: row, message: "OK" };
  };

  app.get(`/admin/v1/${plural}/:id`, ({ params: { id } }) => found(id), {
    roles: everyRole,
    params,
    response: { 200: OneRecord },
    errors: [missing],
    detail: {
      operationId: `get${Noun}`,
      tags: [tag],
      description: `One ${noun}, as the platform reported it.`,
    },
  });

  app.put(
    `/admin/v1/${plural}/:id`,
    async ({ params: { id }, body }) => {
      if (body.id !== undefined && body.id !== id) {
        throw invalidFields([{ in: "body", field: "id", message: "must be the id of the path" }]);
      }
      // The body fits the schema of the input, whose fields are not known here.
      const [refused] = await intake.keep([{ ...body, id } as Record as Input]);
      if (refused) throw new DomainError("conflict", refused);
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
        description: `Makes the ${noun}, or replaces the one of this id: what the body leaves out gets its default. The same again changes nothing.`,
      },
    },
  );

  app.delete(
    `/admin/v1/${plural}/:id`,
    async ({ params: { id }, status }) => {
      await remove(id);
      return status(204, undefined);
    },
    {
      roles: writers,
      params,
      response: { 204: noContent(`There is no such ${noun} (any more).`) },
      detail: {
        operationId: `delete${Noun}`,
        tags: [tag],
        description: `Deletes the ${noun}. ${deletion} An id that does not exist changes nothing and is not an error.`,
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
      response: { 200: DataReport },
      errors: ["body_too_large"],
      detail: {
        operationId: `put${Plural}`,
        tags: [tag],
        description: `Makes or replaces many ${plural}, one on each line, as they arrive. A line that is wrong is refused, and the rest is kept. Fields that are not known are ignored and counted.`,
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
        description: `All ${plural} as NDJSON by ascending id, in the form in which they can be put again. What changes meanwhile may be in it or not.`,
      },
    },
  );
}

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
