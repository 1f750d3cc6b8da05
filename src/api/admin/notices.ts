import { type Static, Type } from "@sinclair/typebox";
import { endpointNotices, type Notice, sendingStatuses, serverNotices } from "../../domain/notices.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { pageOf } from "../http/answers.ts";
import { pagedList } from "../http/cursors.ts";
import { IsoTimestamp, named, Ulid } from "../http/parameters.ts";
import { exampleNotice } from "../public/endpoint.ts";
import { ApplicationIdParameter, pageOfApplication } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, readers } from "./listener.ts";

const NoticeSchema = named("Notice", "A notice about an endpoint or the server.", {
  id: about(Ulid, "Id of the notice: its `webhook-id` at the notify URL."),
  type: oneOf([...endpointNotices, ...serverNotices], { description: "Type of the notice." }),
  app_id: nullable(Ulid, { description: "Id of the application; null for a notice about the server." }),
  created_at: about(IsoTimestamp, "Time at which the notice was created."),
  summary: Type.String({ description: "What happened, in one sentence." }),
  advice: nullable(Type.String(), { description: "Recommended action; null if none is needed." }),
  sending: named("NoticeSending", "The delivery of a notice to the notify URL.", {
    status: oneOf(sendingStatuses, {
      description: "Status of the delivery. `unsent`: there was no notify URL.",
    }),
    attempts: Type.Integer({ description: "Number of attempts so far." }),
    next_attempt_at: nullable(IsoTimestamp, {
      description: "Time of the next attempt; null if none follows.",
    }),
    error: nullable(Type.String(), {
      description: "Reason for the failure of the last attempt; null if it did not fail.",
    }),
  }),
});

const example: Static<typeof NoticeSchema> = {
  id: exampleNotice.id,
  type: exampleNotice.type,
  app_id: exampleNotice.data.application_id,
  created_at: exampleNotice.created_at,
  summary: exampleNotice.data.summary,
  advice: exampleNotice.data.advice,
  sending: { status: "delivered", attempts: 1, next_attempt_at: null, error: null },
};

const Notices = pageOf(NoticeSchema, {
  order: "Notices, the newest first.",
  description: "A page of notices.",
  example,
});

function shownNotice({
  id,
  type,
  application_id,
  created_at,
  body,
  sending,
}: Notice): Static<typeof NoticeSchema> {
  // A boundary: every notice has these two in its data.
  const { data } = JSON.parse(body) as { data: { summary: string; advice: string | null } };
  return {
    id,
    type,
    app_id: application_id,
    created_at: isoTime(created_at),
    summary: data.summary,
    advice: data.advice,
    sending: { ...sending, next_attempt_at: isoTimeOrNull(sending.next_attempt_at) },
  };
}

/** List Notices, of the server and of all applications. */
export function noticeRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = pagedList("notices", cursors);
  app.get(
    "/admin/v1/notices",
    async ({ query }) => {
      const { application_id = null } = query;
      const read = (below: number | null, limit: number) => store.notices.page(application_id, below, limit);
      const page = await list.page(query, { read, positionOf: ({ seq }) => seq, toJson: shownNotice });
      return pageOfApplication(store, application_id, page);
    },
    {
      roles: readers,
      query: Type.Object({
        application_id: Type.Optional(ApplicationIdParameter),
        ...list.query.properties,
      }),
      response: { 200: Notices },
      detail: {
        operationId: "getNotices",
        tags: ["Operations"],
        summary: "List Notices",
        description:
          "Returns the notices about endpoints and about the server from the last 30 days, and the status of their delivery to the notify URL (`--notify-url`).",
      },
    },
  );
}
