import { Type } from "@sinclair/typebox";
import type { Intake } from "../../batch/platform-data.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { maxId } from "../../domain/ids.ts";

/*
 * What users, categories and channels share: one record, which the platform reads and puts by its id.
 */

/** The id in the body of a record whose path has it. */
export const OwnId = Type.Optional(
  Type.Integer({ minimum: 1, maximum: maxId, description: "May be left out; else that of the path." }),
);

/** A body under the id of its path; one of its own must be the same. */
export function underId<Body extends { readonly id?: number }>(
  id: number,
  body: Body,
): Body & { id: number } {
  if (body.id === undefined || body.id === id) return { ...body, id };
  throw invalidFields([{ in: "body", field: "id", message: "must be the id of the path" }]);
}

/** Keeps one record; throws `conflict` where another one has what must be unique. */
export async function keepOne<Input>({ keep }: Intake<Input>, input: Input): Promise<void> {
  const [refused] = await keep([input]);
  if (refused) throw new DomainError("conflict", refused);
}

/** Rows by ascending id, of which the first have an id above `after`. */
type Pages<Row> = { page(after: number, limit: number): Promise<readonly Row[]> };

/** The row with this id; throws `missing` where there is none. */
export async function rowOf<Row extends { readonly id: number }>(
  { page }: Pages<Row>,
  id: number,
  missing: () => DomainError,
): Promise<Row> {
  const [row] = await page(id - 1, 1);
  if (row?.id !== id) throw missing();
  return row;
}
