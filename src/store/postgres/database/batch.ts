import { type BatchMode, BatchRefused, type BatchResult } from "../../batch.ts";
import { codeOf } from "./faults.ts";
import type { Postgres, Queries } from "./pool.ts";

interface Batch<Item> {
  /** Why an item is not kept, which is known before; null: it is to be kept. */
  refused?(item: Item): string | null;
  /** Keeps items in their order by one statement. It may fail for any of them. */
  put(queries: Queries, items: readonly Item[]): Promise<unknown>;
  /** Why an item cannot be kept, of which `put` alone has failed with this error; null: for no reason of its own. */
  refusal(queries: Queries, item: Item, error: unknown): Promise<string | null>;
  /** What comes before an atomic batch, in the same transaction. */
  begin?(queries: Queries, items: readonly Item[]): Promise<unknown>;
  /** What follows in the same transaction, with the items that were kept. */
  finish?(queries: Queries, kept: readonly Item[]): Promise<unknown>;
}

/** Where a statement fails by one of its rows: a key that is taken or missing, or the same row twice. */
const ofARow = /^(23505|23503|21000)$/;

/**
 * Keeps a batch as if its items were kept one after the other, in one transaction: those that cannot be kept are refused
 * alone. Where all can be, which is the rule, it is one statement; else each half is tried for itself.
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

/** The results of those that were tried, between those that were refused before. */
function inPlace(known: BatchResult, results: BatchResult): BatchResult {
  let next = 0;
  return known.map((refused) => refused ?? results[next++] ?? null);
}
