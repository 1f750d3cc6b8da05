import { type Static, Type } from "@sinclair/typebox";
import { type AuditEntry, type AuditFilter, auditActors } from "../../domain/audit.ts";
import { isoTime } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { pageOf } from "../http/answers.ts";
import { pagedList } from "../http/cursors.ts";
import { IsoTimestamp, named, picked, rangeGiven, TextParameter, TimeParameter } from "../http/parameters.ts";
import { exampleApplication } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, readers } from "./listener.ts";

const AuditSchema = named("AuditEntry", "A change, or several equal ones, with its author.", {
  at: about(IsoTimestamp, "Time of the change, or of the first of several."),
  last_at: about(IsoTimestamp, "Time of the last of several changes; else the same as `at`."),
  count: Type.Integer({ description: "Number of changes." }),
  actor: named("AuditActor", "The author of a change.", {
    kind: oneOf(auditActors, { description: "Kind of the author. An application can change only itself." }),
    id: Type.String({
      description: "Id of the key or application; `environment` for the key in ONAIR_ADMIN_KEY.",
    }),
    name: Type.String({ description: "Name of the key or application at the time of the change." }),
  }),
  action: Type.String({ description: "The `operationId` of the operation." }),
  object: Type.String({ description: "Kind of the changed object, such as `applications`." }),
  object_id: nullable(Type.String(), {
    description: "Id of the changed object; null for several objects or a secret id.",
  }),
  fields: Type.Array(Type.String(), {
    description: "Names of the fields in the request, without their values.",
  }),
  address: Type.String({
    description: 'Client address of the request; `""` for a command in the data directory.',
  }),
  request_id: Type.String({ description: "Id of the request, or of the last of several." }),
  accepted: nullable(Type.Integer(), {
    description: "Number of accepted lines of a snapshot of livestreams; null for other changes.",
  }),
  ended: nullable(Type.Integer(), {
    description: "Number of livestreams that the snapshot ended; null for other changes.",
  }),
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
  accepted: null,
  ended: null,
};

const AuditPage = pageOf(AuditSchema, {
  order: "Entries, the newest first.",
  name: "AuditPage",
  description: "A page of the audit log.",
  example,
});

const words = { minLength: 1, maxLength: 100 };
const filters = {
  key: Type.Optional(
    TextParameter({ ...words, description: "Returns only changes by the key or application with this id." }),
  ),
  action: Type.Optional(
    TextParameter({
      ...words,
      description: "Returns only changes by this operation, such as `changeApplication`.",
    }),
  ),
  object: Type.Optional(
    TextParameter({
      ...words,
      description: "Returns only changes of this kind of object, such as `applications`.",
    }),
  ),
  object_id: Type.Optional(
    TextParameter({ ...words, description: "Returns only changes of the object with this id." }),
  ),
  after: Type.Optional(
    TimeParameter({
      description: "Returns only changes at or after this time; of several, the last one counts.",
    }),
  ),
  before: Type.Optional(
    TimeParameter({
      description:
        "Returns only changes before this time; of several, the first one counts. Must be later than `after`.",
    }),
  ),
};

/** List Audit Trail. */
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
          "Returns the changes made through this API, and the changes of applications to themselves, without values. Changes of the platform's data, events and answers to login requests are counted by key and hour, except that each snapshot of livestreams has an entry. Downloads of backups are included.",
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
