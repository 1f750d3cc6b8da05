/** For each item of a batch, in order: null when it was stored, else the reason why it was refused. */
export type BatchResult = readonly (string | null)[];

export interface BatchMode {
  /** All or nothing: one refused item undoes the whole batch, and the promise rejects with `BatchRefused`. */
  readonly atomic?: boolean;
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

/** An atomic batch was undone. In its results, null marks the items that were valid. */
export class BatchRefused extends Error {
  override name = "BatchRefused";
  constructor(readonly results: BatchResult) {
    super("Nothing of the batch was stored");
  }
}
