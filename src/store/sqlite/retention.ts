import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { RetentionStore } from "../retention.ts";
import type { Commit } from "./database/commit.ts";
import type { DataSize } from "./database/data-size.ts";
import { pruner } from "./retention/prune.ts";
import { trimmer } from "./retention/trim.ts";

export function retentionStore(orm: BunSQLiteDatabase, commit: Commit, size: DataSize): RetentionStore {
  const prune = pruner(orm);
  const trim = trimmer(orm);
  /** Resets the progress when a step is rolled back. */
  const orReset = (work: Promise<boolean>, { reset }: { reset(): void }) =>
    work.catch((error) => {
      reset();
      throw error;
    });
  return {
    prune: (retention, now) =>
      orReset(
        commit(() => prune.step(retention, now)),
        prune,
      ),
    async trim(maxBytes) {
      size.limit(maxBytes);
      if (size.isLarge()) return orReset(commit(trim.step), trim);
      trim.reset();
      return true;
    },
    async shrink() {
      if (!size.hasSpare()) return true;
      await commit(size.giveBack);
      return false;
    },
  };
}
