import type { NewNotice, Notice } from "../../domain/operations/notices.ts";

/** Notices about endpoints and about the server. Those about endpoints are stored by `deliveries.record`. */
export interface NoticeStore {
  /** Stores a notice, or updates `sending` of a known one. Only the newest are kept (`noticeLimits`). */
  put(notice: NewNotice): Promise<void>;
  /** The next notices of an application, in order, starting after the number `after`. */
  behind(applicationId: string, after: number, limit: number): Promise<Notice[]>;
  /**
   * Notices below a number (null for the first page), newest first: of one application, or (null) of all and the
   * server.
   */
  page(applicationId: string | null, below: number | null, limit: number): Promise<Notice[]>;
  /** The number of the last notice made before `time`; 0 when there is none. */
  lastBefore(time: number): Promise<number>;
  /** Claims notices that are due to be sent to the operator, oldest first. Until `until` no other call returns them. */
  claim(now: number, until: number, limit: number): Promise<Notice[]>;
  /** Removes some notices from before a time. Resolves to true when none of them is left. */
  prune(before: number): Promise<boolean>;
}
