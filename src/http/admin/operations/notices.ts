import { type Static, Type } from "@sinclair/typebox";
import { endpointNotices, type Notice, serverNotices } from "../../../domain/operations/notices.ts";
import { isoTime, isoTimeOrNull } from "../../../domain/time.ts";
import { about, nullable, oneOf } from "../../../domain/validation/fields.ts";
import { pageOf } from "../../answers.ts";
import { IsoTimestamp, named, Ulid } from "../../fields.ts";
import { pagedList } from "../../paging.ts";
import { exampleNotice } from "../../public/application/notice-fields.ts";
import { readers } from "../access.ts";
import { ApplicationIdParameter, pageOfApplication } from "../application-fields.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const NoticeSchema = named("Notice", "A notice about an endpoint or the server.", {
  id: about(Ulid, "Its `webhook-id` at the notify URL."),
  type: oneOf([...endpointNotices, ...serverNotices], { description: "What it is about." }),
  app_id: nullable(Ulid, { description: "The application; null: it is about the server." }),
  created_at: about(IsoTimestamp, "When it was made."),
  summary: Type.String({ description: "What happened, in one sentence." }),
  advice: nullable(Type.String(), { description: "What to do next; null where nothing is to do." }),
  sending: named("NoticeSending", "What became of it at the notify URL.", {
    status: oneOf(["unsent", "pending", "delivered", "failed"], {
      description: "`unsent`: there was no notify URL.",
    }),
    attempts: Type.Integer({ description: "Attempts so far." }),
    next_attempt_at: nullable(IsoTimestamp, { description: "While it is pending." }),
    error: nullable(Type.String(), { description: "Why the last attempt failed." }),
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
  order: "The newest first.",
  description: "A page of notices.",
  example,
});

function shown({ id, type, application_id, created_at, body, sending }: Notice): Static<typeof NoticeSchema> {
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

/** List Notices: what operator and developers were told. */
export function noticeRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = pagedList("notices", cursors);
  app.get(
    "/admin/v1/notices",
    async ({ query }) => {
      const { application_id = null } = query;
      const read = (below: number | null, limit: number) => store.notices.page(application_id, below, limit);
      const page = await list.page(query, { read, positionOf: ({ seq }) => seq, shown });
      return pageOfApplication(store, application_id, page);
    },
    {
      roles: readers,
      query: Type.Object({
        application_id: Type.Optional(ApplicationIdParameter),
        ...list.query.properties,
      }),
      response: { 200: Notices },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getNotices",
        tags: ["Operations"],
        summary: "List Notices",
        description:
          "What was noticed about endpoints and about the server, of the last 30 days, and what became of it at the notify URL (`--notify-url`).",
      },
    },
  );
}
