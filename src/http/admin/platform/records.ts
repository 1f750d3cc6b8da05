import { Type } from "@sinclair/typebox";
import type { Intake } from "../../../batch/platform-data.ts";
import { DomainError, invalidFields } from "../../../domain/errors.ts";
import { maxId } from "../../../domain/ids.ts";

/*
 * Shared parts of users, categories and channels, which the platform reads and puts by id.
 */

/** The optional id in a body whose path has the id. */
export const OwnId = Type.Optional(
  Type.Integer({ minimum: 1, maximum: maxId, description: "May be left out; else that of the path." }),
);

/** Sets the id of the path on the body; throws when the body has a different one. */
export function withPathId<Body extends { readonly id?: number }>(
  id: number,
  body: Body,
): Body & { id: number } {
  if (body.id === undefined || body.id === id) return { ...body, id };
  throw invalidFields([{ in: "body", field: "id", message: "must be the id of the path" }]);
}

/** Stores one record; throws `conflict` when a unique value is taken. */
export async function storeOne<Input>({ keep }: Intake<Input>, input: Input): Promise<void> {
  const [refused] = await keep([input]);
  if (refused) throw new DomainError("conflict", refused);
}

/** Reads rows by ascending id, above `after`. */
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
