/** For each item of a batch, in order: null where it was kept, else the reason why it was refused. */
export type BatchResult = readonly (string | null)[];

export interface BatchMode {
  /** All or nothing: one refusal undoes all, and the promise rejects with `BatchRefused`. */
  readonly atomic?: boolean;
}

/** A row by its id and its name, which no other row has. */
interface Named {
  readonly id: number;
  readonly name: string;
}

/**
 * The rows of `known` that give up their names in a batch which gives these to others, as where two of them swap: before
 * the batch is kept, each gets its `nameInBetween`, because both databases look for equal names with each row.
 */
export function givingUp(known: readonly Named[], batch: readonly Named[]): number[] {
  const wanted = new Set(batch.map(({ name }) => name));
  const last = new Map(batch.map(({ id, name }) => [id, name]));
  return known
    .filter(({ id, name }) => last.has(id) && last.get(id) !== name && wanted.has(name))
    .map(({ id }) => id);
}

/** A name that no row has otherwise: none may begin with a space. */
export const nameInBetween = (id: number): string => ` ${id}`;

/** Nothing of an atomic batch was kept; null stands for what could have been. */
export class BatchRefused extends Error {
  override name = "BatchRefused";
  constructor(readonly results: BatchResult) {
    super("Nothing of the batch was kept");
  }
}
