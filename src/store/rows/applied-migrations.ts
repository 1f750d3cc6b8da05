import { StoreError } from "../faults.ts";

/** A migration, as a file of `drizzle/` has it. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** What a database knows of a migration that was applied to it. */
export interface AppliedMigration {
  readonly name: string;
  readonly hash: string;
  /** Whether versions that do not know it run on beside it. */
  readonly isCompatible?: boolean;
}

/** How a database that does not fit is refused. */
interface Refusal {
  /** What was written, as a sentence begins with it. */
  readonly what: string;
  /** What else can be done than to use the newer version that wrote it. */
  readonly wayBack: string;
  readonly isMisuse: boolean;
}

/** What tells one wording of a migration from another. */
export const hashOf = ({ sql }: Migration): string =>
  new Bun.CryptoHasher("sha256").update(sql).digest("hex");

/** The statements of a migration, in their order. */
export const statementsOf = ({ sql }: Migration): string[] =>
  sql
    .split("--> statement-breakpoint")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");

/**
 * How many migrations were applied, which `applied` gives in their order: more than the list has where a newer version has
 * added some that this one need not know. Throws a `StoreError` where it would have to, and where one has another wording.
 */
export function checkedCount(
  list: readonly Migration[],
  applied: readonly AppliedMigration[],
  { what, wayBack, isMisuse }: Refusal,
): number {
  for (const [i, done] of applied.entries()) {
    const known = list[i];
    if (!known) {
      if (done.isCompatible) continue;
      throw new StoreError(
        `${what} was written by a newer version of onair (its migration ${done.name} is unknown here). Use that version${wayBack}.`,
        isMisuse,
      );
    }
    if (known.name !== done.name || hashOf(known) !== done.hash) {
      throw new StoreError(
        `${what} was written by another build of onair: its migration ${done.name} is not the one known here. Use the build that wrote it.`,
        isMisuse,
      );
    }
  }
  return applied.length;
}
