import { StoreError } from "../domain/store.ts";

/** A migration file of `drizzle/`. */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

/** A database's record of an applied migration. */
export interface AppliedMigration {
  readonly name: string;
  readonly hash: string;
}

/** The wording of the error for a database of another version. */
interface Refusal {
  /** The subject of the sentence, such as "The database". */
  readonly what: string;
  /** An alternative to using the newer version, appended to the sentence. */
  readonly wayBack: string;
  readonly isMisuse: boolean;
}

/** SHA-256 of the text of a migration. It detects a migration that was changed after its release. */
export const hashOf = ({ sql }: Migration): string =>
  new Bun.CryptoHasher("sha256").update(sql).digest("hex");

/** Returns the statements of a migration in order. */
export const statementsOf = ({ sql }: Migration): string[] =>
  sql
    .split("--> statement-breakpoint")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");

/**
 * Returns the number of applied migrations. Throws a `StoreError` for an unknown migration, which a newer version has
 * applied, and for one whose text differs.
 *
 * @param applied in the order in which they were applied
 */
export function checkedCount(
  list: readonly Migration[],
  applied: readonly AppliedMigration[],
  { what, wayBack, isMisuse }: Refusal,
): number {
  for (const [i, done] of applied.entries()) {
    const known = list[i];
    if (!known) {
      throw new StoreError(
        `${what} was written by a newer version of onair (its migration ${done.name} is unknown here). Use that version${wayBack}.`,
        isMisuse,
      );
    }
    if (known.name !== done.name || hashOf(known) !== done.hash) {
      throw new StoreError(
        `${what} was written by a build of onair with another schema (its migration ${done.name} is not the one known here): write it out with "onair export" of that build, and import it into new data.`,
        isMisuse,
      );
    }
  }
  return applied.length;
}
