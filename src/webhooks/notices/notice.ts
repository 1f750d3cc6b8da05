import type { KeyObject } from "node:crypto";
import type { Recipient } from "../../domain/applications.ts";
import { type Endpoint, endpointStatus } from "../../domain/endpoints.ts";
import { newId } from "../../domain/ids.ts";
import type {
  EndpointNotice,
  NewNotice,
  NoticeType,
  ServerNotice,
  ServerNoticeData,
} from "../../domain/operations/notices.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import { endpointSummary } from "../endpoint-summary.ts";
import { sign } from "../signature.ts";

/** Makes notices. */
export interface Notices {
  ofEndpoint(type: EndpointNotice, endpoint: Endpoint, recipient: Recipient, at: number): NewNotice;
  ofServer(type: ServerNotice, data: ServerNoticeData, at: number): NewNotice;
}

/** Returns a maker of notices. @param isSent whether notices are sent to a notify URL */
export function noticesOf(isSent: boolean): Notices {
  const made = (type: NoticeType, application_id: string | null, data: object, at: number): NewNotice => ({
    id: newId(),
    type,
    application_id,
    body: JSON.stringify({ type, version: 1, timestamp: isoTime(at), data }),
    created_at: at,
    sending: {
      status: isSent ? "pending" : "unsent",
      attempts: 0,
      next_attempt_at: isSent ? at : null,
      error: null,
    },
  });
  return {
    ofEndpoint(type, endpoint, recipient, at) {
      const { application_id, disabled_reason, disabled_at, failing_since, failures } = endpoint;
      const { last_failure_at, last_failure_status: status, last_failure_error: error } = endpoint;
      const data = {
        ...endpointSummary({ ...recipient, disabled: false }, endpoint),
        application_id,
        status: endpointStatus(endpoint),
        disabled_reason,
        since: isoTimeOrNull(disabled_at ?? failing_since),
        failures,
        last_failure: last_failure_at === null ? null : { at: isoTime(last_failure_at), status, error },
      };
      return made(type, application_id, data, at);
    },
    ofServer: (type, data, at) => made(type, null, data, at),
  };
}

/** Returns the headers of a notice sent at `now`, signed like a webhook with these secrets and the platform's key. */
export function signedNoticeHeaders(
  { id, type, body: text }: NewNotice,
  secrets: readonly string[],
  signingKey: KeyObject,
  now: number,
): Record<string, string> {
  const timestampSeconds = Math.floor(now / 1000);
  const signed = { id, timestampSeconds, body: Buffer.from(text), secrets, ed25519: signingKey };
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "onair-event-type": type,
    "onair-event-version": "1",
    "onair-event-id": id,
    "webhook-signature": sign(signed),
  };
}
