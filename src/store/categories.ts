import type { Category, NewCategory } from "../domain/categories.ts";
import type { BatchMode, BatchResult } from "./batch.ts";

/** Categories, with their tags. */
export interface CategoryStore {
  upsert(categories: readonly NewCategory[], mode?: BatchMode): Promise<BatchResult>;
  /** By ascending id, those behind `after`. */
  page(after: number, limit: number): Promise<Category[]>;
  /** Its livestreams end: gives their channels. Unknown ids change nothing. */
  remove(id: number): Promise<readonly number[]>;
  all(): Promise<Category[]>;
  byIds(ids: readonly number[]): Promise<Category[]>;
}
