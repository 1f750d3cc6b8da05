import { type Static, Type } from "@sinclair/typebox";
import { type AuditEntry, type AuditedObject, type AuditFilter, auditActors } from "../../domain/audit.ts";
import { actionInWords } from "../../domain/audited-actions.ts";
import { idIn } from "../../domain/ids.ts";
import { isoTime } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { pageOf } from "../http/answers.ts";
import { pagedList } from "../http/cursors.ts";
import {
  IsoTimestamp,
  named,
  optionalFields,
  picked,
  TextParameter,
  TimeParameter,
  timeRange,
} from "../http/parameters.ts";
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
  summary: Type.String({ description: "The operation in words. The wording may change." }),
  object: Type.String({ description: "Kind of the changed object, such as `applications`." }),
  object_id: nullable(Type.String(), {
    description: "Id of the changed object; null for several objects or a secret id.",
  }),
  object_name: nullable(Type.String(), {
    description:
      "Name of the object at the time: of an application, category or key, the username of a user, the slug of a channel, type and version of events; null for others, for several objects, and for a user who was deleted since.",
  }),
  fields: Type.Array(Type.String(), { description: "Names of the fields in the request." }),
  changes: Type.Array(
    named("AuditedValue", "A field that changed, or that the request named.", {
      field: Type.String({ description: "Name of the field." }),
      from: Type.Unknown({
        description: "Value before, as it was read directly before the change; null if there was none.",
      }),
      to: Type.Unknown({ description: "Value after; null if there is none." }),
    }),
    {
      description:
        "The fields that changed, with their values. Secrets are left out: values of headers are masked, and a URL is without the values of its query and long segments of its path. A long value is cut, and is then text that ends with `…`. Empty for entries of several objects, and for a user who was deleted since.",
    },
  ),
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
  summary: "Changed application",
  object: "applications",
  object_id: exampleApplication.id,
  object_name: exampleApplication.name,
  fields: ["rate_limit"],
  changes: [{ field: "rate_limit", from: null, to: 6000 }],
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
const filters = optionalFields({
  key: TextParameter({
    ...words,
    description:
      "Returns only changes by the key or application with this id, or with this name at the time of the change.",
  }),
  action: TextParameter({
    ...words,
    description: "Returns only changes by this operation, such as `changeApplication`.",
  }),
  object: TextParameter({
    ...words,
    description: "Returns only changes of this kind of object, such as `applications`.",
  }),
  object_id: TextParameter({ ...words, description: "Returns only changes of the object with this id." }),
  application: TextParameter({
    ...words,
    description:
      "Returns only changes of the application with this id, or with this name at the time of the change.",
  }),
  user: TextParameter({
    ...words,
    description:
      "Returns only changes of the user with this id and of this user's channels, or of the user with this username at the time of the change.",
  }),
  after: TimeParameter({
    description: "Returns only changes at or after this time; of several, the last one counts.",
  }),
  before: TimeParameter({
    description:
      "Returns only changes before this time; of several, the first one counts. Must be later than `after`.",
  }),
});

/** The most channels of a user whose changes are found with those of the user. */
const mostChannels = 100;

/** List Audit Trail. */
export function auditRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = pagedList("audit", cursors);
  /** The channels of the user with this id, as objects that change. */
  const channelsOf = async (userId: string): Promise<AuditedObject[]> => {
    const user_id = idIn(userId);
    if (user_id === null) return [];
    const channels = await store.channels.list({ user_id, anyOf: null }, 0, mostChannels);
    return channels.flatMap(({ id }) =>
      ["channels", "livestreams"].map((kind) => ({ kind, idOrName: String(id) })),
    );
  };
  app.get(
    "/admin/v1/audit",
    async ({ query }) => {
      const { key: actor = null, action = null, object = null, object_id = null, application, user } = query;
      const of = [
        ...(application === undefined ? [] : [[{ kind: "applications", idOrName: application }]]),
        ...(user === undefined ? [] : [[{ kind: "users", idOrName: user }, ...(await channelsOf(user))]]),
      ];
      const filter: AuditFilter = { actor, action, object, object_id, of, ...timeRange(query) };
      const read = (below: number | null, limit: number) => store.audit.page(filter, below, limit);
      return list.page(query, { read, positionOf: ({ seq }) => seq, toJson: shownEntry });
    },
    {
      roles: readers,
      query: Type.Object({ ...filters, ...list.query.properties }),
      response: { 200: AuditPage },
      detail: {
        operationId: "getAudit",
        tags: ["Operations"],
        summary: "List Audit Trail",
        description:
          "Returns the changes made through this API, and the changes of applications to themselves, with old and new values but without secrets. Changes of the platform's data, events and answers to login requests are counted by key and hour. Exceptions with an entry each are snapshots of livestreams, and changes of single records with a key of the role `operator`, up to 100 by key, operation and hour; single events of such a key are counted by type and channel, too. Downloads of backups are included.",
      },
    },
  );
}

function shownEntry({ actor_kind: kind, actor_id: id, actor_name: name, ...entry }: AuditEntry): Audit {
  return picked(AuditSchema.properties, {
    ...entry,
    at: isoTime(entry.at),
    last_at: isoTime(entry.last_at),
    actor: { kind, id, name },
    summary: actionInWords(entry.action),
    fields: [...entry.fields],
    changes: [...entry.changes],
  });
}
