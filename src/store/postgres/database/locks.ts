import type { Queries } from "./pool.ts";

/** The advisory locks of the program. Those of publishing are apart from them; see `deliveries/positions.ts`. */
export const advisoryLocks = {
  /** Held while migrations are applied, so that only one of several starting processes applies them. */
  migration: 0x6f6e_6169_72,
  /** Held by a copy on its source. */
  copy: 0x6f6e_6163_70,
  /** Held by the process that maintains the parts of the log. */
  parts: 0x6f6e_6170_74,
};

/** Takes a lock until the transaction ends. Returns false when another process has it. */
export async function takeLock(transaction: Queries, lock: number): Promise<boolean> {
  const [row] = await transaction.run<{ is_mine: boolean }>(
    "SELECT pg_try_advisory_xact_lock($1) AS is_mine",
    [lock],
  );
  return row?.is_mine === true;
}
