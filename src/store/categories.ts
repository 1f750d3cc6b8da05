import type { Category, NewCategory } from "../domain/categories.ts";
import type { BatchMode, BatchResult } from "./batch.ts";

/** Categories, with their tags. */
export interface CategoryStore {
  upsert(categories: readonly NewCategory[], mode?: BatchMode): Promise<BatchResult>;
  /** The next categories by ascending id, starting after `after`. */
  page(after: number, limit: number): Promise<Category[]>;
  /** Removes a category and ends its livestreams. Resolves to the ids of their channels. Ignores an unknown id. */
  remove(id: number): Promise<readonly number[]>;
  all(): Promise<Category[]>;
  byIds(ids: readonly number[]): Promise<Category[]>;
}
