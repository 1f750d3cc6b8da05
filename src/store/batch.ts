/** For each item of a batch, in order: null where it was kept, else the reason why it was refused. */
export type BatchResult = readonly (string | null)[];

export interface BatchMode {
  /** All or nothing: one refusal undoes all, and the promise rejects with `BatchRefused`. */
  readonly atomic?: boolean;
}

/** Nothing of an atomic batch was kept; null stands for what could have been. */
export class BatchRefused extends Error {
  override name = "BatchRefused";
  constructor(readonly results: BatchResult) {
    super("Nothing of the batch was kept");
  }
}
