import type { Goal } from "../support/report.ts";

/** What a part of the benchmark has found. */
export interface Part {
  /** The lines that are shown. */
  readonly table: string;
  readonly goals: readonly Goal[];
  /** The figures, for programs. */
  readonly figures: unknown;
}

/** What all parts are told. */
export interface Setting {
  readonly executable: string;
  /** For what a part writes; it is gone at the end. */
  readonly directory: string;
}
