import type { Application } from "./applications.ts";
import { shownFilters } from "./filters.ts";
import { hour } from "./time.ts";
import { maskedWebhookHeaders } from "./webhook-headers.ts";

/** Callers that make changes: a key of the admin API, or an application that changed itself. */
export const auditActors = ["operator_key", "application"] as const;

/** A field of a changed object. Long values are cut, and parts that may be secret are left out. */
export interface AuditedValue {
  readonly field: string;
  /** The JSON value before the change; null when there was none. */
  readonly from: unknown;
  /** The JSON value after the change; null when there is none. */
  readonly to: unknown;
}

/** The object that a request changed, and what changed. */
export interface AuditedChange {
  /** The name of the object at the time; null when it has none. */
  readonly object_name: string | null;
  readonly changes: readonly AuditedValue[];
}

/** The maximum number of values in an entry. */
const maxValues = 30;
/** The maximum length of the JSON of a value, in code points. */
const maxValueLength = 300;

/** Fields that say nothing about a change. */
const unsaid: ReadonlySet<string> = new Set(["id", "client_id", "created_at", "updated_at"]);

/** Whether a value stands for nothing, such as a text without characters or a list without items. */
export const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

function kept(value: unknown): unknown {
  if (value === undefined) return null;
  const points = [...JSON.stringify(value).slice(0, 2 * maxValueLength + 2)];
  if (points.length <= maxValueLength) return value;
  const text = typeof value === "string" ? [...value.slice(0, 2 * maxValueLength)] : points;
  return `${text.slice(0, maxValueLength).join("")}…`;
}

/**
 * Returns the fields in which two versions of an object differ; null stands for an object that does not exist. Takes no
 * secrets.
 */
export function valueChanges(
  before: object | null,
  after: object | null,
  display: (field: string, value: unknown) => unknown = (_, value) => value,
): AuditedValue[] {
  const [old, current] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after ?? {}))];
  const changes: AuditedValue[] = [];
  for (const field of new Set([...old.keys(), ...current.keys()])) {
    const [from, to]: unknown[] = [old.get(field), current.get(field)];
    const isSame = isNothing(from) ? isNothing(to) : JSON.stringify(from) === JSON.stringify(to);
    if (isSame || unsaid.has(field)) continue;
    changes.push({ field, from: kept(display(field, from)), to: kept(display(field, to)) });
    if (changes.length === maxValues) break;
  }
  return changes;
}

/** The fields of an application without its secrets. */
const applicationFields = [
  "name",
  "client_type",
  "delivery",
  "webhook_url",
  "webhook_headers",
  "filters",
  "scopes",
  "redirect_uris",
  "rate_limit",
  "subscription_limit",
  "webhook_concurrency",
  "locked",
  "owner_user_id",
  "disabled",
] as const;

type AuditedApplication = Partial<Pick<Application, (typeof applicationFields)[number]>> &
  Pick<Application, "name">;

function shownOfApplication(field: string, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (field === "webhook_url") return urlWithoutSecrets(value as string);
  if (field === "webhook_headers") return maskedWebhookHeaders(value as Application["webhook_headers"]);
  return field === "filters" ? shownFilters(value as Application["filters"]) : value;
}

/** Returns what changed of an application. null stands for an application that does not exist. */
export function applicationChange(
  before: AuditedApplication | null,
  after: AuditedApplication | null,
): AuditedChange {
  const picked = (application: AuditedApplication | null) =>
    application && Object.fromEntries(applicationFields.map((field) => [field, application[field]]));
  const changes = valueChanges(picked(before), picked(after), shownOfApplication);
  return { object_name: (after ?? before)?.name ?? null, changes };
}

/** Matches a part of a URL that may be a token. */
const tokenPart = /^(?=.*\d).{20,}$/;
const withoutToken = (part: string) => (tokenPart.test(part) ? "…" : part);

/** Returns a URL without what receivers use as secrets: values of the query, and long segments of the path. */
function urlWithoutSecrets(text: string): string {
  const url = URL.parse(text);
  if (!url) return "…";
  const path = url.pathname.split("/").map(withoutToken).join("/");
  // A part without a name is a value.
  const query = url.search.slice(1).replace(/[^&]+/g, (part) => {
    const [name = "", value] = part.split("=");
    return value === undefined ? "…" : `${withoutToken(name)}=…`;
  });
  return `${url.protocol}//${url.host}${path}${query && `?${query}`}`;
}

/** One change, or several equal changes (see `auditMergeKey`). Times are milliseconds since the epoch. */
export interface NewAuditEntry extends AuditedChange {
  /** Time of the first change. */
  readonly at: number;
  /** Time of the last change. */
  readonly last_at: number;
  /** Number of changes. */
  readonly count: number;
  readonly actor_kind: (typeof auditActors)[number];
  readonly actor_id: string;
  /** Name at the time: the key may since be revoked, or the application deleted. */
  readonly actor_name: string;
  /** The `operationId` of the call; `auditedActions` has the words for it. */
  readonly action: string;
  /** Kind of the changed object, as in the path: `applications`. */
  readonly object: string;
  /** null for several objects, and when the id is secret. */
  readonly object_id: string | null;
  /** Names of the given fields. */
  readonly fields: readonly string[];
  /** Network address of the caller; empty for a command in the data directory. */
  readonly address: string;
  /** Id of the last request. */
  readonly request_id: string;
  /** Number of accepted lines of a snapshot of livestreams; else null. */
  readonly accepted: number | null;
  /** Number of livestreams that a snapshot ended; else null. */
  readonly ended: number | null;
}

/** Returns the entry of one change. */
export function newAuditEntry(
  change: Pick<
    NewAuditEntry,
    "at" | "actor_kind" | "actor_id" | "actor_name" | "action" | "object" | "address" | "request_id"
  > &
    Partial<NewAuditEntry>,
): NewAuditEntry {
  const none = { object_id: null, object_name: null, fields: [], changes: [], accepted: null, ended: null };
  return { ...none, last_at: change.at, count: 1, ...change };
}

export interface AuditEntry extends NewAuditEntry {
  /** The order in which entries were stored. */
  readonly seq: number;
}

/** An object by its id, or by its name at the time of a change. */
export interface AuditedObject {
  readonly kind: string;
  readonly idOrName: string;
}

/** The filter of a list; null matches all. */
export interface AuditFilter {
  /** The id of a key or application, or its name at the time of a change. */
  readonly actor: string | null;
  readonly action: string | null;
  readonly object: string | null;
  readonly object_id: string | null;
  /** Groups of objects: a change matches when it is of an object of each group. */
  readonly of: readonly (readonly AuditedObject[])[];
  /** Last change at this time or later. */
  readonly after: number | null;
  /** First change before this time. */
  readonly before: number | null;
}

/**
 * The newest entries are kept, up to these numbers. The limit per application protects the entries of all others.
 */
export const auditLimits = { ofApplication: 200, all: 200_000 } as const;

/** Entries with the same key are merged: equal changes of one caller within an hour. */
export function auditMergeKey({ at, actor_id, action, object, address, ...entry }: NewAuditEntry): string {
  const { object_name, changes } = entry;
  const named = object_name === null ? [] : [object_name, JSON.stringify(changes)];
  return [actor_id, action, object, address, Math.floor(at / hour), ...named].join(" ");
}

/** The audit log: who changed what. Only the newest entries are kept (`auditLimits`). */
export interface AuditStore {
  /** Adds an entry. One about a user who was removed meanwhile gets no name and no values. */
  add(entry: NewAuditEntry): Promise<void>;
  /** Adds entries for frequent changes. Entries with the same `auditMergeKey` are merged into one. */
  count(entries: readonly NewAuditEntry[]): Promise<void>;
  /** Entries numbered below `below` (null for the first page), newest first. */
  page(filter: AuditFilter, below: number | null, limit: number): Promise<AuditEntry[]>;
  /** Removes some entries from before a time. Resolves to true when none of them is left. */
  prune(before: number): Promise<boolean>;
}
