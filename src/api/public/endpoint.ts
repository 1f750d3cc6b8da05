import { type Static, Type } from "@sinclair/typebox";
import { type Application, usesOnlyStream } from "../../domain/applications.ts";
import { mostPendingOfApplication } from "../../domain/deliveries.ts";
import { disabledReasons, type Endpoint, endpointStatus, endpointStatuses } from "../../domain/endpoints.ts";
import { endpointNotices, type Notice } from "../../domain/notices.ts";
import { isoTime } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { pageOf } from "../http/answers.ts";
import { pagedList } from "../http/cursors.ts";
import { IsoTimestamp, named, Ulid } from "../http/parameters.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

/*
 * The endpoint of an application: its state, and notices about it. The admin API and the OpenAPI documents use the same
 * schemas.
 */

export const LastFailure = named("LastFailure", "The last failed attempt of an endpoint.", {
  at: about(IsoTimestamp, "Time of the failure."),
  status: nullable(Type.Integer(), { description: "HTTP status of the response; null if none arrived." }),
  error: nullable(Type.String(), { description: "Reason for the failure, in one sentence." }),
});

export const DisabledReason = oneOf([...disabledReasons, "no_webhook_url"], {
  $id: "DisabledReason",
  description:
    "Why the endpoint is disabled. `gone`: it answered 410. `failing`: every attempt failed for 24 hours. `no_webhook_url`: the application has no webhook URL.",
});

/** Fields of every schema that describes an endpoint. */
export const endpointFields = {
  status: oneOf(endpointStatuses, {
    description: "`failing`: no attempt has succeeded since a failure. `disabled`: nothing is sent.",
  }),
  failures: Type.Integer({ description: "Number of failed attempts since the last success." }),
  last_failure: nullable(LastFailure, { description: "Last failed attempt; null if none has failed." }),
  next_attempt_at: nullable(IsoTimestamp, {
    description:
      "Time of the next attempt, always in the future: the earliest pending delivery is due, and sending resumes after failures. Enabling the endpoint tries it at once. null if nothing is pending, if the attempt is due now, or if the endpoint is disabled.",
  }),
  summary: Type.String({ description: "State of the endpoint in one sentence. The wording may change." }),
  advice: nullable(Type.String(), {
    description: "Recommended action; null if none is needed. The wording may change.",
  }),
};

/** The number of pending deliveries of an endpoint. */
export const PendingCount = Type.Integer({
  minimum: 0,
  description: `Number of pending deliveries; ${mostPendingOfApplication} means ${mostPendingOfApplication} or more.`,
});

/** Returns the last failure of an endpoint, or null if it has not failed. */
export function shownFailure(endpoint: Endpoint): Static<typeof LastFailure> | null {
  const { last_failure_at, last_failure_status: status, last_failure_error: error } = endpoint;
  return last_failure_at === null ? null : { at: isoTime(last_failure_at), status, error };
}

/** Returns the status of an application's endpoint, as the public API shows it. */
export function healthOf(endpoint: Endpoint, application: Application) {
  // An application that uses only the event stream has no endpoint that could fail.
  if (usesOnlyStream(application)) return { status: "enabled", disabled_reason: null } as const;
  if (application.webhook_url === null)
    return { status: "disabled", disabled_reason: "no_webhook_url" } as const;
  return { status: endpointStatus(endpoint), disabled_reason: endpoint.disabled_reason };
}

const { status, failures, last_failure, advice } = endpointFields;

export const EndpointNoticeData = named(
  "EndpointNoticeData",
  "The state of an endpoint at the time of a notice.",
  {
    summary: Type.String({ description: "What happened, in one sentence. The wording may change." }),
    advice,
    application_id: about(Ulid, "Id of the application."),
    status,
    disabled_reason: nullable(oneOf(disabledReasons), {
      description: "Why the endpoint was disabled; null if it was not.",
    }),
    since: nullable(IsoTimestamp, {
      description: "Time at which it began to fail or was disabled; null if neither.",
    }),
    failures,
    last_failure,
  },
);

export const NoticeSchema = named("Notice", "A notice about the endpoint of an application.", {
  id: about(Ulid, "Id of the notice: its `webhook-id` on the event stream."),
  type: oneOf(endpointNotices, {
    description:
      "`endpoint.failing`: every attempt failed for half an hour. `endpoint.disabled`: it was disabled. `endpoint.recovered`: an attempt succeeded again.",
  }),
  created_at: about(IsoTimestamp, "Time at which the notice was created."),
  data: EndpointNoticeData,
});

export const exampleNotice: Static<typeof NoticeSchema> = {
  id: "01KEYN2Q9HAVJ4W6C0B9RZ5T1M",
  type: "endpoint.failing",
  created_at: "2026-01-14T16:43:12.117Z",
  data: {
    summary: "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
    advice:
      "It answered 404: is the path of the webhook URL right? Fix that, then try it now; retries continue automatically.",
    application_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
    status: "failing",
    disabled_reason: null,
    since: "2026-01-14T16:08:11.402Z",
    failures: 3,
    last_failure: { at: "2026-01-14T16:43:12.117Z", status: 404, error: "The answer was 404." },
  },
};

/** Returns a notice about an endpoint in the form of the public API. */
export function shownNotice({ id, type, created_at, body }: Notice): Static<typeof NoticeSchema> {
  // A boundary: the stored text was made by `noticesOf` from the same fields.
  const { data } = JSON.parse(body) as { data: Static<typeof EndpointNoticeData> };
  return { id, type: type as Static<typeof NoticeSchema>["type"], created_at: isoTime(created_at), data };
}

const NoticePage = pageOf(NoticeSchema, {
  order: "Notices, the newest first.",
  description: "A page of notices.",
  example: exampleNotice,
});

/** Get Notices, for programs that do not read the event stream. */
export function noticeRoutes(app: TokenListener, { store, cursors }: PublicDeps): void {
  const list = pagedList("notices", cursors);
  app.get(
    "/public/v1/application/notices",
    ({ query, caller: { application, grant } }) => {
      const read = (below: number | null, limit: number) => store.notices.page(application.id, below, limit);
      return list.page(query, { read, positionOf: ({ seq }) => seq, toJson: shownNotice, grant });
    },
    {
      application: "reads",
      query: list.query,
      response: { 200: NoticePage },
      detail: {
        operationId: "getNotices",
        tags: ["Application"],
        description:
          "Returns notices about the endpoint of the calling application: that it fails, was disabled, or has recovered. The newest hundred of the last 30 days are kept. The event stream has the same notices, as events of their `type` with the same ids.",
      },
    },
  );
}
