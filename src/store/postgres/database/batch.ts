import { type BatchMode, BatchRefused, type BatchResult } from "../../batch.ts";
import { codeOf } from "./faults.ts";
import type { Postgres, Queries } from "./pool.ts";

interface Batch<Item> {
  /** Why an item is refused before it is tried; null when it is to be stored. */
  refused?(item: Item): string | null;
  /** Stores items in their order, with one statement. Any of them may make it fail. */
  put(queries: Queries, items: readonly Item[]): Promise<unknown>;
  /** Why an item is refused for which `put` has failed with this error; null when the item is not the reason. */
  refusal(queries: Queries, item: Item, error: unknown): Promise<string | null>;
  /** Called before an atomic batch, in the same transaction. */
  begin?(queries: Queries, items: readonly Item[]): Promise<unknown>;
  /** Called at the end of the transaction, with the items that were stored. */
  finish?(queries: Queries, kept: readonly Item[]): Promise<unknown>;
}

/** Codes of errors caused by a single row: a key that is taken or missing, or the same row twice. */
const ofARow = /^(23505|23503|21000)$/;

/**
 * Stores a batch in one transaction, with the same results as item by item: an invalid item is refused alone. The usual
 * batch, in which all items are valid, takes one statement. If that fails, each half is tried separately.
 */
export async function keepBatch<Item>(
  db: Postgres,
  items: readonly Item[],
  { atomic = false }: BatchMode,
  batch: Batch<Item>,
): Promise<BatchResult> {
  const known = items.map((item) => batch.refused?.(item) ?? null);
  const good = items.filter((_, i) => known[i] === null);
  const mayFail = atomic && good.length < items.length;
  if (!mayFail && !batch.finish && (await isKeptAtOnce(db, good, batch))) return known;
  return db.transact(async (transaction) => {
    if (atomic) await batch.begin?.(transaction, good);
    const tried = await keepParts(transaction, good, batch);
    const results = inPlace(known, tried);
    if (atomic && results.some((one) => one !== null)) throw new BatchRefused(results);
    await batch.finish?.(
      transaction,
      good.filter((_, i) => tried[i] === null),
    );
    return results;
  });
}

async function isKeptAtOnce<Item>(
  db: Postgres,
  items: readonly Item[],
  batch: Batch<Item>,
): Promise<boolean> {
  if (items.length === 0) return true;
  try {
    await batch.put(db, items);
    return true;
  } catch (error) {
    if (ofARow.test(codeOf(error))) return false;
    throw error;
  }
}

async function keepParts<Item>(
  transaction: Queries,
  items: readonly Item[],
  batch: Batch<Item>,
): Promise<(string | null)[]> {
  if (items.length === 0) return [];
  await transaction.run("SAVEPOINT part");
  try {
    await batch.put(transaction, items);
    await transaction.run("RELEASE part");
    return items.map(() => null);
  } catch (error) {
    if (!ofARow.test(codeOf(error))) throw error;
    await transaction.run("ROLLBACK TO part");
    await transaction.run("RELEASE part");
    const [item] = items;
    if (items.length === 1 && item !== undefined) {
      const reason = await batch.refusal(transaction, item, error);
      if (reason === null) throw error;
      return [reason];
    }
  }
  const half = Math.ceil(items.length / 2);
  const first = await keepParts(transaction, items.slice(0, half), batch);
  return [...first, ...(await keepParts(transaction, items.slice(half), batch))];
}

/** Merges the results of the items that were tried with those of the items that were refused before. */
function inPlace(known: BatchResult, results: BatchResult): BatchResult {
  let next = 0;
  return known.map((refused) => refused ?? results[next++] ?? null);
}
