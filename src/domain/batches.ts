/** For each item of a batch, in order: null when it was stored, else the reason why it was refused. */
export type BatchResult = readonly (string | null)[];

export interface BatchMode {
  /** All or nothing: one refused item undoes the whole batch, and the promise rejects with `BatchRefused`. */
  readonly atomic?: boolean;
}

/** An atomic batch was undone. In its results, null marks the items that were valid. */
export class BatchRefused extends Error {
  override name = "BatchRefused";
  constructor(readonly results: BatchResult) {
    super("Nothing of the batch was stored");
  }
}
