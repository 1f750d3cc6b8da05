import { type Static, Type } from "@sinclair/typebox";
import { type AuditEntry, type AuditFilter, auditActors } from "../../../domain/operations/audit.ts";
import { isoTime } from "../../../domain/time.ts";
import { about, nullable, oneOf } from "../../../domain/validation/fields.ts";
import { pageOf } from "../../answers.ts";
import { IsoTimestamp, named, picked } from "../../fields.ts";
import { pagedList } from "../../paging.ts";
import { rangeGiven, TextParameter, TimeParameter } from "../../parameters.ts";
import { readers } from "../access.ts";
import { exampleApplication } from "../application-fields.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const AuditSchema = named("AuditEntry", "A change, and who made it.", {
  at: about(IsoTimestamp, "When it was done; of several, the first."),
  last_at: about(IsoTimestamp, "Of several, when the last was done; else the same."),
  count: Type.Integer({ description: "How many there were." }),
  actor: named("AuditActor", "Who did it.", {
    kind: oneOf(auditActors, { description: "An application changes only itself." }),
    id: Type.String({ description: "Of the key or application; `environment` for ONAIR_ADMIN_KEY." }),
    name: Type.String({ description: "Its name then." }),
  }),
  action: Type.String({ description: "The operation, as this document names it." }),
  object: Type.String({ description: "What kind of thing it was done to." }),
  object_id: nullable(Type.String(), { description: "null for several, or where the id is secret." }),
  fields: Type.Array(Type.String(), { description: "The fields that were given, without their values." }),
  address: Type.String({
    description: "Where the request came from; empty for a command in the data directory.",
  }),
  request_id: Type.String({ description: "By which the log has it; of several, that of the last." }),
});
export type Audit = Static<typeof AuditSchema>;

const example: Audit = {
  at: "2026-01-14T16:08:06.123Z",
  last_at: "2026-01-14T16:08:06.123Z",
  count: 1,
  actor: { kind: "operator_key", id: "01KATHZX5M9S3E6R8B2D4F7G1H", name: "maya's laptop" },
  action: "changeApplication",
  object: "applications",
  object_id: exampleApplication.id,
  fields: ["rate_limit"],
  address: "10.0.0.7",
  request_id: "01KEYN2Q9GZ4T7RFDX6M8V3BHC",
};

const AuditPage = pageOf(AuditSchema, {
  order: "The newest first.",
  name: "AuditPage",
  description: "A page of the audit trail.",
  example,
});

const words = { minLength: 1, maxLength: 100 };
const filters = {
  key: Type.Optional(TextParameter({ ...words, description: "Of this key or application, by its id." })),
  action: Type.Optional(
    TextParameter({ ...words, description: "This operation, like `changeApplication`." }),
  ),
  object: Type.Optional(TextParameter({ ...words, description: "This kind of thing, like `applications`." })),
  object_id: Type.Optional(TextParameter({ ...words, description: "The thing with this id." })),
  after: Type.Optional(TimeParameter({ description: "Done then or later; of several, the last." })),
  before: Type.Optional(
    TimeParameter({ description: "Done before, which is later than `after`; of several, the first." }),
  ),
};

/** List Audit Trail: who changed what, when and from where. */
export function auditRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = pagedList("audit", cursors);
  app.get(
    "/admin/v1/audit",
    ({ query }) => {
      const { key = null, action = null, object = null, object_id = null } = query;
      const times = rangeGiven(query);
      const filter: AuditFilter = { actor_id: key, action, object, object_id, ...times };
      const read = (below: number | null, limit: number) => store.audit.page(filter, below, limit);
      return list.page(query, { read, positionOf: ({ seq }) => seq, shown });
    },
    {
      roles: readers,
      query: Type.Object({ ...filters, ...list.query.properties }),
      response: { 200: AuditPage },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getAudit",
        tags: ["Operations"],
        summary: "List Audit Trail",
        description:
          "Who changed what through this API, and what applications changed about themselves, without values. Reports of the platform's data, events and answers to login requests are counted by key and hour. Downloads of backups are listed, too.",
      },
    },
  );
}

function shown({ actor_kind: kind, actor_id: id, actor_name: name, ...entry }: AuditEntry): Audit {
  return picked(AuditSchema.properties, {
    ...entry,
    at: isoTime(entry.at),
    last_at: isoTime(entry.last_at),
    actor: { kind, id, name },
    fields: [...entry.fields],
  });
}
