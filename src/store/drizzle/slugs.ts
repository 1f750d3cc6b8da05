import { eq } from "drizzle-orm";
import { rowsToRename, temporaryName } from "../batch.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

/** Frees the slugs that an atomic batch moves from one of its rows to another. Called before the batch is stored. */
export function* freeSlugs(
  db: Dialect,
  orm: Orm,
  table: Tables["categories"] | Tables["channels"],
  batch: readonly { readonly id: number; readonly slug: string }[],
): Work<void> {
  const ids = batch.map(({ id }) => id);
  const columns = { id: table.id, name: table.slug };
  const known = yield* execute(orm.select(columns).from(table).where(db.isOneOf(table.id, ids)));
  const named = batch.map(({ id, slug }) => ({ id, name: slug }));
  for (const id of rowsToRename(known, named)) {
    const set = { slug: temporaryName(id) };
    yield* execute(orm.update(table).set(set).where(eq(table.id, id)));
  }
}
