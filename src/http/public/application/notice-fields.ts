import { type Static, Type } from "@sinclair/typebox";
import { endpointNotices, type Notice } from "../../../domain/operations/notices.ts";
import { isoTime } from "../../../domain/time.ts";
import { about, nullable, oneOf } from "../../../domain/validation/fields.ts";
import { IsoTimestamp, named, Ulid } from "../../fields.ts";
import { endpointFields } from "../health.ts";

/*
 * Schemas of notices, for the public and the admin API.
 */

const { status, failures, last_failure, advice } = endpointFields;

export const EndpointNoticeData = named("EndpointNoticeData", "The state of an endpoint at a time.", {
  summary: Type.String({ description: "What happened, in one sentence. Its words may change." }),
  advice,
  application_id: about(Ulid, "The application whose endpoint it is."),
  status,
  disabled_reason: nullable(oneOf(["gone", "failing"]), { description: "null where it was not disabled." }),
  since: nullable(IsoTimestamp, { description: "When it began to fail or was disabled." }),
  failures,
  last_failure,
});

export const NoticeSchema = named("Notice", "A notice about the endpoint of the application.", {
  id: about(Ulid, "Its `webhook-id` on the event stream."),
  type: oneOf(endpointNotices, {
    description: "Whether the endpoint fails for half an hour, was disabled, or has recovered from either.",
  }),
  created_at: about(IsoTimestamp, "When it was made."),
  data: EndpointNoticeData,
});

export const exampleNotice: Static<typeof NoticeSchema> = {
  id: "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
  type: "endpoint.failing",
  created_at: "2026-01-14T16:43:12.117Z",
  data: {
    summary: "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
    advice:
      "It answered 404: is the path of the webhook URL right? Send a test; retries continue automatically.",
    application_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
    status: "failing",
    disabled_reason: null,
    since: "2026-01-14T16:08:11.402Z",
    failures: 3,
    last_failure: { at: "2026-01-14T16:43:12.117Z", status: 404, error: "The answer was 404." },
  },
};

/** A notice about an endpoint as the public API shows it. */
export function shownNotice({ id, type, created_at, body }: Notice): Static<typeof NoticeSchema> {
  // A boundary: what was stored is what `noticesOf` made of the same fields.
  const { data } = JSON.parse(body) as { data: Static<typeof EndpointNoticeData> };
  return { id, type: type as Static<typeof NoticeSchema>["type"], created_at: isoTime(created_at), data };
}
