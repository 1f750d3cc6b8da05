import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import type { Intake } from "../../../batch/apply.ts";
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

/** A kind of record of the platform's data: users, categories or channels. */
interface RecordKind<Input extends Record, Row extends Record> {
  /** The name in sentences and responses, and the plural in the path. */
  readonly noun: "user" | "category" | "channel";
  readonly plural: "users" | "categories" | "channels";
  readonly tag: string;
  readonly input: TObject;
  /** Fields of a stored record that differ from the input. */
  readonly kept?: TProperties;
  readonly example: Row;
  readonly missing: "user_not_found" | "category_not_found" | "not_found";
  /** A sentence about the further effects of a deletion. */
  readonly deletion: string;
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
      description: `A ${noun} to store.`,
      ...otherFieldsIgnored,
      examples: [exampleFields],
    },
  );
  const KeptRecord = named(Noun, `A stored ${noun}.`, { ...Type.Required(input).properties, ...kept });
  const OneRecord = answer(
    // The compiler does not know the name of the field.
    { [noun]: KeptRecord, message: Message } as { message: typeof Message },
    {
      name: `${Noun}Answer`,
      description: `The stored ${noun}.`,
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
      description: `Returns one ${noun}, as the platform reported it.`,
    },
  });

  app.put(
    `/admin/v1/${plural}/:id`,
    async ({ params: { id }, body }) => {
      if (body.id !== undefined && body.id !== id) {
        throw invalidFields([{ in: "body", field: "id", message: "must be the id of the path" }]);
      }
      // The body matches the input schema, whose fields are not known here.
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
        description: `Creates the ${noun}, or replaces the one with this id. Fields that the body omits get their defaults. Repeating the request changes nothing.`,
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
      response: { 200: DataReport },
      errors: ["body_too_large"],
      detail: {
        operationId: `put${Plural}`,
        tags: [tag],
        description: `Creates or replaces ${plural}, one on each line, as the lines arrive. Invalid lines are refused; all others are stored. Unknown fields are ignored and counted.`,
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
