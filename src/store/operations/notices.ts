import type { NewNotice, Notice } from "../../domain/operations/notices.ts";

/** Notices about endpoints and about the server. Those about endpoints are stored by `deliveries.record`. */
export interface NoticeStore {
  /** Stores a notice, or what became of sending it where it is stored. Only the newest are kept: `noticeLimits`. */
  put(notice: NewNotice): Promise<void>;
  /** Those of an application behind a number, in order. */
  behind(applicationId: string, after: number, limit: number): Promise<Notice[]>;
  /** Newest first, those numbered below `below` (null begins): of one application, or of all and the server (null). */
  page(applicationId: string | null, below: number | null, limit: number): Promise<Notice[]>;
  /** The number of the last notice made before a time, 0 where there is none. */
  lastBefore(time: number): Promise<number>;
  /** Those to be sent to the operator now, the oldest first; each is given out once before `until`. */
  claim(now: number, until: number, limit: number): Promise<Notice[]>;
  /** Removes some of those made before a time; true: there are no more of them. */
  prune(before: number): Promise<boolean>;
}
