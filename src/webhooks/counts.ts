import type { AttemptResult } from "../domain/deliveries.ts";
import type { EndpointNotice } from "../domain/operations/notices.ts";

/** What has happened since the start, for `/metrics`. */
export interface Counts {
  /** Attempts by their class of outcome. */
  readonly attempts: Record<string, number>;
  /** Deliveries that have ended, by final state. */
  readonly finished: Record<string, number>;
  /** Notices about endpoints. */
  readonly notices: Record<string, number>;
}

export function newCounts(): Counts {
  return { attempts: {}, finished: {}, notices: {} };
}

export function countResult({ attempts, finished }: Counts, { attempt, status }: AttemptResult): void {
  if (attempt) attempts[attempt.outcome] = (attempts[attempt.outcome] ?? 0) + 1;
  if (status !== "pending") finished[status] = (finished[status] ?? 0) + 1;
}

export function countNotice({ notices }: Counts, notice: EndpointNotice): void {
  notices[notice] = (notices[notice] ?? 0) + 1;
}
