/** Notices about the endpoint of an application, for its developer and for the operator. */
export const endpointNotices = ["endpoint.failing", "endpoint.disabled", "endpoint.recovered"] as const;
export type EndpointNotice = (typeof endpointNotices)[number];

/** Notices about the server, for the operator alone. */
export const serverNotices = [
  "storage.failing",
  "storage.recovered",
  "backup.failed",
  "backup.overdue",
  "backup.recovered",
  "deliveries.stuck",
  "deliveries.resumed",
] as const;
export type ServerNotice = (typeof serverNotices)[number];

/** The content of a notice about the server. */
export interface ServerNoticeData {
  /** What happened, in one sentence. */
  readonly summary: string;
  /** What to do next; null when there is nothing to do. */
  readonly advice: string | null;
  readonly [fact: string]: unknown;
}

export type NoticeType = EndpointNotice | ServerNotice;

/** A notice before it is stored. */
export interface NewNotice {
  /** The `webhook-id` of the notice, the same on every attempt, and on the event stream. */
  readonly id: string;
  readonly type: NoticeType;
  /** null for a notice about the server. */
  readonly application_id: string | null;
  /** The exact text that is sent. */
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly created_at: number;
  /** Whether it is sent to the operator's notify URL. */
  readonly sending: NoticeSending;
}

/** `unsent`: there is no notify URL. */
export const sendingStatuses = ["unsent", "pending", "delivered", "failed"] as const;

/** The state of sending a notice to the operator. */
export interface NoticeSending {
  readonly status: (typeof sendingStatuses)[number];
  readonly attempts: number;
  /** While pending: when the next attempt is due, in milliseconds since the epoch. */
  readonly next_attempt_at: number | null;
  /** Why the last attempt failed. */
  readonly error: string | null;
}

export interface Notice extends NewNotice {
  /** The order in which notices were stored. */
  readonly seq: number;
}

/** The most stored notices of an application and in total, and their greatest age. */
export const noticeLimits = { ofApplication: 100, all: 10_000, keepMs: 30 * 24 * 3_600_000 } as const;

/** Notices about endpoints and about the server. Those about endpoints are stored by `deliveries.record`. */
export interface NoticeStore {
  /** Stores a notice, or updates `sending` of a known notice. Only the newest are kept (`noticeLimits`). */
  put(notice: NewNotice): Promise<void>;
  /** The next notices of an application, in order, starting after the number `after`. */
  following(applicationId: string, after: number, limit: number): Promise<Notice[]>;
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
