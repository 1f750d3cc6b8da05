import { eq } from "drizzle-orm";
import { type BatchMode, BatchRefused, type BatchResult } from "../../domain/errors.ts";
import { type Dialect, execute, type Orm, type Tables, type Work } from "./dialect.ts";

/** The steps that store a batch whose rows may be refused one by one. */
interface Keeping<Row> {
  /** Why a row is refused before it is tried; null when it is to be stored. */
  refused?(row: Row): string | null;
  /** Stores rows in their order. Any of them may make it fail. */
  put(orm: Orm, rows: readonly Row[]): Work<void>;
  /** Why a row is refused for which `put` has failed with this error; null when the row is not the reason. */
  refusal(orm: Orm, row: Row, error: unknown): Work<string | null>;
  /** Called before an atomic batch, in the same transaction. */
  begin?(orm: Orm, rows: readonly Row[]): Work<void>;
  /** Called at the end of the transaction, with the rows that were stored. */
  finish?(orm: Orm, kept: readonly Row[]): Work<void>;
}

/** Stores a batch in one transaction, with the same results as row by row: an invalid row is refused alone. */
export function keepEach<Row>(
  db: Dialect,
  rows: readonly Row[],
  { atomic = false }: BatchMode,
  keeping: Keeping<Row>,
): Promise<BatchResult> {
  return db.transact(function* (orm) {
    const refused = rows.map((row) => keeping.refused?.(row) ?? null);
    const good = rows.filter((_, i) => refused[i] === null);
    if (atomic && keeping.begin) yield* keeping.begin(orm, good);
    const tried: (string | null)[] = [];
    for (const part of db.putsRowByRow ? good.map((row) => [row]) : [good])
      tried.push(...(yield* keepPart(db, orm, part, keeping)));
    const results = inPlace(refused, tried);
    if (atomic && results.some((one) => one !== null)) throw new BatchRefused(results);
    const kept = good.filter((_, i) => tried[i] === null);
    if (keeping.finish) yield* keeping.finish(orm, kept);
    return results;
  });
}

/** Stores rows at once. If that fails because of one of them, each half is tried separately. */
function* keepPart<Row>(
  db: Dialect,
  orm: Orm,
  rows: readonly Row[],
  keeping: Keeping<Row>,
): Work<(string | null)[]> {
  const [row] = rows;
  if (row === undefined) return [];
  const error = yield* db.attempt(orm, () => keeping.put(orm, rows));
  if (error === null) return rows.map(() => null);
  if (rows.length === 1) {
    const reason = yield* keeping.refusal(orm, row, error);
    if (reason === null) throw error;
    return [reason];
  }
  const half = Math.ceil(rows.length / 2);
  const first = yield* keepPart(db, orm, rows.slice(0, half), keeping);
  return [...first, ...(yield* keepPart(db, orm, rows.slice(half), keeping))];
}

/** Merges the results of the rows that were tried with those of the rows that were refused before. */
function inPlace(refused: BatchResult, tried: BatchResult): BatchResult {
  let next = 0;
  return refused.map((reason) => reason ?? tried[next++] ?? null);
}

interface Named {
  readonly id: number;
  readonly name: string;
}

/**
 * Returns the ids of rows in `known` whose names the batch gives to other rows, for example when two rows swap names.
 * Both databases check uniqueness row by row, so these rows get their `temporaryName` before the batch is stored.
 */
export function rowsToRename(known: readonly Named[], batch: readonly Named[]): number[] {
  const wanted = new Set(batch.map(({ name }) => name));
  const last = new Map(batch.map(({ id, name }) => [id, name]));
  return known
    .filter(({ id, name }) => last.has(id) && last.get(id) !== name && wanted.has(name))
    .map(({ id }) => id);
}

/** A temporary name that is always free: no real name begins with a space. */
export const temporaryName = (id: number): string => ` ${id}`;

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
