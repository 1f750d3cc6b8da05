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

/**
 * Whether builds that do not know a migration can use a database that has it, so that they run beside newer ones and
 * can take their place again. Its name says so, because a database has nothing else of a migration that older builds
 * could read.
 */
export const isAdditive = ({ name }: { readonly name: string }): boolean => name.endsWith(".additive");

/**
 * What older builds do not notice: new tables and indexes, and columns that their INSERTs need not name. Nothing that
 * could refuse a row of theirs. Each is a statement by itself, so that none follows another one after a semicolon.
 */
const additions = [
  /^CREATE TABLE (?!.*\bREFERENCES\b)/is,
  /^CREATE INDEX /i,
  /^ALTER TABLE \S+ ADD (?!.*\b(?:CONSTRAINT|REFERENCES|UNIQUE|CHECK|PRIMARY)\b)(?:.*\bDEFAULT\b|(?!.*\bNOT NULL\b))/is,
];

/**
 * Returns the statements of a migration in order.
 *
 * @throws Error if it is additive by its name, and has a statement that is not
 */
export function statementsOf({ name, sql }: Migration): string[] {
  const statements = sql
    .split("--> statement-breakpoint")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
  const isAddition = (one: string) => !/;\s*\S/.test(one) && additions.some((form) => form.test(one));
  const other = isAdditive({ name }) && statements.find((one) => !isAddition(one));
  if (other) throw new Error(`The migration ${name} is not additive: ${other}`);
  return statements;
}

/**
 * Returns how many migrations of the list are applied. Those that are unknown and additive do not count. Throws a
 * `StoreError` for another unknown migration, which a newer version has applied, and for one whose text differs.
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
    if (!known && isAdditive(done)) continue;
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
  return Math.min(applied.length, list.length);
}

/** Throws a `StoreError` when a newer version has added to the data what this build would not copy. */
export function requireAllKnown(
  list: readonly Migration[],
  applied: readonly Pick<AppliedMigration, "name">[],
  location: string,
): void {
  const unknown = applied[list.length];
  if (!unknown) return;
  throw new StoreError(
    `The data of ${location} has additions of a newer version of onair (its migration ${unknown.name}), which this one would not copy. Use that version.`,
    true,
  );
}
