import { type Static, Type } from "@sinclair/typebox";
import { endpointSummary } from "../../delivery/diagnosis.ts";
import { checkWebhookUrl } from "../../delivery/send/address.ts";
import { newWebhookSecret } from "../../delivery/signature.ts";
import {
  type Application,
  type ClientType,
  clientTypes,
  deliveryModes,
  lockableFields,
  type Rotation,
  redirectUriProblem,
  requireUnlocked,
  rotationLimits,
  type SecretInForce,
  secretKinds,
  usesOnlyStream,
} from "../../domain/applications.ts";
import { type AuditedChange, applicationChange, newAuditEntry, valueChanges } from "../../domain/audit.ts";
import { type Endpoint, newEndpoint, nextAttemptAt } from "../../domain/endpoints.ts";
import { DomainError, type FieldProblem, invalidFields, ownerGone } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import {
  type FilterChanges,
  filterLimits,
  filterProblems,
  shownFilters,
  shownFilterTimes,
} from "../../domain/filters.ts";
import type { Notice } from "../../domain/notices.ts";
import { isoTime, isoTimeOrNull, second } from "../../domain/time.ts";
import { about, Id, nullable, oneOf } from "../../domain/validation/fields.ts";
import {
  maskedWebhookHeaders,
  type WebhookHeaderChanges,
  webhookHeaderLimits,
  webhookHeaderProblems,
} from "../../domain/webhook-headers.ts";
import { requireWithinLimit } from "../http/access.ts";
import { dataOf } from "../http/answers.ts";
import type { RateLimitState, RequestContext } from "../http/context.ts";
import { IsoTimestamp, named, otherFieldsIgnored, picked, Ulid } from "../http/parameters.ts";
import {
  DisabledReason,
  endpointFields,
  healthOf,
  NoticeSchema,
  PendingCount,
  shownFailure,
  shownNotice,
} from "./endpoint.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

/*
 * Fields of an application that operators can set, and that its developer can set unless they are locked.
 */

const { count, nameLength, valueLength } = webhookHeaderLimits;

/** Headers of webhooks in answers, with masked values. */
export const ShownWebhookHeaders = Type.Record(Type.String(), Type.String(), {
  description: "Headers of its own that every webhook to it carries, by name. Their values are masked.",
});

export const FilterCondition = Type.Record(Type.String(), Type.Unknown(), {
  description: "A condition on `data` of the event.",
});

/** Filters as they are shown. */
export const ShownFilters = Type.Record(Type.String(), FilterCondition, {
  description: "The filters by event type. Events that do not match the one of their type make no delivery.",
});

/** The times of filters as they are shown. */
export const ShownFilterTimes = Type.Record(Type.String(), IsoTimestamp, {
  description: "The times since which the filters are in force, by event type.",
});

export const receivingFields = {
  delivery: oneOf(deliveryModes, {
    description:
      "How the application receives events: at its webhook URL, on the event stream, or both. With `stream`, nothing is sent to the webhook URL, and pending deliveries can be read from the stream.",
  }),
  webhook_url: nullable(Type.String({ maxLength: 2048 }), {
    description:
      "URL to which events are sent, at most 2048 characters. With null nothing is sent: pending and later deliveries are canceled.",
  }),
  webhook_headers: nullable(
    // Changes may remove all headers and set as many.
    Type.Record(Type.String(), nullable(Type.String()), { maxProperties: 2 * count }),
    {
      description: `Headers that every webhook carries in addition, such as the key of a gateway in front of the receiver: at most ${count}, names of up to ${nameLength} characters, values of up to ${valueLength} printable ASCII characters. Headers in the object are set, those with null are removed, others keep their values; null in place of the object removes all. Values are never shown. Names that begin with \`webhook-\`, \`onair-\`, \`content-\`, \`accept\`, \`proxy-\`, \`if-\`, \`sec-\` or \`x-forwarded-\` are reserved, and so are those of HTTP itself, of traces, and of substitute methods. Headers belong to the origin of the webhook URL: a change to another origin must set \`webhook_headers\`, too, and only those are sent there.`,
    },
  ),
  filters: nullable(
    // Changes may remove all filters and set as many.
    Type.Record(Type.String(), nullable(FilterCondition), { maxProperties: 2 * filterLimits.count }),
    {
      description: `Which events the application gets, by event type: \`chat.message.sent\` for all of its versions, or \`chat.message.sent@1\`. The value is a condition on the event's \`data\`, such as \`{"content": {"$startsWith": "!"}}\`; an event of this type that does not meet it makes no delivery. Filters in the object are set, those with null are removed, others stay; null in place of the object removes all. At most ${filterLimits.count} filters of ${filterLimits.bytes} bytes each.`,
    },
  ),
  redirect_uris: Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
    maxItems: 20,
    description: "OAuth redirect URIs, at most 20.",
  }),
};

interface Receiving {
  readonly webhook_url?: string | null;
  readonly webhook_headers?: WebhookHeaderChanges;
  readonly filters?: FilterChanges;
  readonly redirect_uris?: readonly string[];
}

/** Returns all problems of the given URLs, headers and filters of an application. */
export function receivingProblems(
  { webhook_url, webhook_headers = null, filters = null, redirect_uris = [] }: Receiving,
  clientType: ClientType,
  { allowPrivateWebhooks, catalogue }: Pick<PublicDeps, "allowPrivateWebhooks" | "catalogue">,
): FieldProblem[] {
  const wrong: FieldProblem[] = [];
  const verdict = webhook_url ? checkWebhookUrl(webhook_url, { allowPrivate: allowPrivateWebhooks }) : null;
  // A client whose variable is unset sends "", which must not cancel pending deliveries.
  if (webhook_url === "")
    wrong.push({ in: "body", field: "webhook_url", message: "must not be empty; use null for no URL" });
  if (verdict?.ok === false) wrong.push({ in: "body", field: "webhook_url", message: verdict.reason });
  wrong.push(...webhookHeaderProblems(webhook_headers), ...filterProblems(filters, catalogue));
  for (const [i, uri] of redirect_uris.entries()) {
    const problem = redirectUriProblem(uri, clientType);
    if (problem) wrong.push({ in: "body", field: `redirect_uris[${i}]`, message: problem });
  }
  return wrong;
}

/*
 * Schemas of the rotation of a secret, for the public and the admin API.
 */

export const rotationFields = {
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: rotationLimits.maxOverlapSeconds,
      default: rotationLimits.defaultOverlapSeconds,
      description: "Seconds for which older secrets remain valid, at most; 0 ends them at once.",
    }),
  ),
};

export const OverlapUntil = nullable(IsoTimestamp, {
  description: "Time until which older secrets remain valid; null if they ended at once.",
});

/** Returns the rotation that a request asks for. */
export function rotationOf(
  body: { readonly overlap_seconds?: number } | null | undefined,
  now: number,
): Rotation {
  const { overlap_seconds = rotationLimits.defaultOverlapSeconds } = body ?? {};
  return { now, overlapMs: overlap_seconds * second };
}

/** Returns the time at which older secrets end, or null if they end at once. */
export function overlapEnd({ now, overlapMs }: Rotation): string | null {
  return overlapMs === 0 ? null : isoTime(now + overlapMs);
}

/** Returns what the audit log has of the rotation of an application's secret. */
export function rotationChange(object_name: string, { overlapMs }: Rotation): AuditedChange {
  return { object_name, changes: valueChanges(null, { overlap_seconds: overlapMs / second }) };
}

/*
 * Schemas of an application as its own developer sees it.
 */

const { webhook_url, webhook_headers, filters, delivery, redirect_uris } = receivingFields;

const { status, failures, last_failure, next_attempt_at, summary, advice } = endpointFields;
const EndpointState = named("EndpointState", "The state of the endpoint at the webhook URL.", {
  status,
  disabled_reason: nullable(DisabledReason, {
    description: "Why the endpoint is disabled; null if it is not.",
  }),
  since: nullable(IsoTimestamp, {
    description: "Time at which it began to fail or was disabled; null while it is enabled.",
  }),
  failures,
  last_success_at: nullable(IsoTimestamp, {
    description: "Time of the last success, accurate to 5 seconds; null if there was none.",
  }),
  last_failure,
  pending: PendingCount,
  next_attempt_at,
  summary,
  advice,
});

const Secret = named("SecretInForce", "A secret that is valid now. The secret itself is not shown.", {
  kind: oneOf(secretKinds, { description: "Kind of the secret." }),
  prefix: about(Type.String(), "First characters of the secret."),
  created_at: about(IsoTimestamp, "Time of its creation."),
  expires_at: nullable(IsoTimestamp, {
    description: "Time at which a replaced secret expires; null for the newest of its kind.",
  }),
});

export const OwnApplicationSchema = named("OwnApplication", "The application of the token.", {
  id: about(Ulid, "Id of the application."),
  client_id: Type.String({ description: "OAuth client id; the same as `id`." }),
  name: Type.String({ description: "Name that users see when they consent." }),
  client_type: oneOf(clientTypes, {
    description: "OAuth client type. A `public` client has no client secret.",
  }),
  scopes: Type.Array(Type.String(), { description: "Scopes that its tokens may have." }),
  webhook_url,
  webhook_headers: ShownWebhookHeaders,
  filters: ShownFilters,
  filters_set_at: ShownFilterTimes,
  delivery,
  redirect_uris,
  locked: Type.Array(oneOf(lockableFields), { description: "Fields that only the platform can change." }),
  owner_user_id: nullable(Id, { description: "User id of the owner; null if unknown." }),
  rate_limit: named("RateLimit", "The rate limit of the application and its current state.", {
    limit: Type.Integer({ description: "Requests per minute; 0 means unlimited." }),
    remaining: nullable(Type.Integer(), {
      description: "Requests that may be made now; null means unlimited.",
    }),
  }),
  subscriptions: named("SubscriptionBudget", "The number of subscriptions and its limit.", {
    used: Type.Integer({ description: "Number of subscriptions." }),
    limit: Type.Integer({ description: "Maximum number of subscriptions." }),
  }),
  endpoint: EndpointState,
  notices: Type.Array(NoticeSchema, {
    description: "The newest five notices about the endpoint. Get Notices returns more.",
  }),
  secrets: Type.Array(Secret, { description: "Valid secrets, the newest of each kind first." }),
  created_at: about(IsoTimestamp, "Time at which the application was created."),
  updated_at: about(IsoTimestamp, "Time of its last change."),
});

const OwnChangesInput = Type.Partial(
  Type.Object({ webhook_url, webhook_headers, filters, delivery, redirect_uris }),
  {
    $id: "OwnApplicationChanges",
    description:
      "The fields to change. Fields that are absent keep their values; unknown fields are ignored.",
    ...otherFieldsIgnored,
    examples: [
      {
        webhook_url: "https://bot.example/webhook",
        filters: { "chat.message.sent": { content: { $startsWith: "!" } } },
      },
    ],
  },
);

export const exampleOwnApplication: Static<typeof OwnApplicationSchema> = {
  id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  client_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  name: "My bot",
  client_type: "confidential",
  scopes: ["users:read", "events:subscribe"],
  webhook_url: "https://bot.example/webhook",
  webhook_headers: { "X-Api-Key": "••••••••" },
  filters: { "chat.message.sent": { content: { $startsWith: "!" } } },
  filters_set_at: { "chat.message.sent": "2026-01-14T16:08:06.123Z" },
  delivery: "webhook",
  redirect_uris: [],
  locked: [],
  owner_user_id: exampleUser.id,
  rate_limit: { limit: 800, remaining: 799 },
  subscriptions: { used: 12, limit: 10_000 },
  endpoint: {
    status: "failing",
    disabled_reason: null,
    since: "2026-01-14T16:08:11.402Z",
    failures: 3,
    last_success_at: "2026-01-14T16:01:12.000Z",
    last_failure: { at: "2026-01-14T16:13:12.117Z", status: 404, error: "The answer was 404." },
    pending: 2,
    next_attempt_at: "2026-01-14T16:43:12.117Z",
    summary: "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
    advice:
      "It answered 404: is the path of the webhook URL right? Fix that, then try it now; retries continue automatically.",
  },
  notices: [],
  secrets: [
    {
      kind: "client_secret",
      prefix: "onair_cs_4fQx",
      created_at: "2026-01-14T16:08:06.123Z",
      expires_at: null,
    },
    {
      kind: "webhook_secret",
      prefix: "whsec_Zm9v",
      created_at: "2026-01-14T16:08:06.123Z",
      expires_at: null,
    },
  ],
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

/** Data that the answer has in addition to the application's own row. */
interface Circumstances {
  readonly now: number;
  readonly endpoint: Endpoint;
  /** When the earliest pending delivery is due; null when none waits. */
  readonly dueAt: number | null;
  readonly notices: readonly Notice[];
  readonly secrets: readonly SecretInForce[];
  readonly subscriptions: { readonly used: number; readonly limit: number };
  /** The number of pending deliveries. */
  readonly pending: number;
  /** null means unlimited. */
  readonly rateLimit: Pick<RateLimitState, "limit" | "remaining"> | null;
}

/** Returns an application as its developer sees it: without fields that only operators see, and without secrets. */
function shownOwn(
  application: Application,
  { now, endpoint, dueAt, pending, notices, secrets, subscriptions, rateLimit }: Circumstances,
) {
  return picked(OwnApplicationSchema.properties, {
    ...application,
    webhook_headers: maskedWebhookHeaders(application.webhook_headers),
    filters: shownFilters(application.filters),
    filters_set_at: shownFilterTimes(application.filters),
    client_id: application.id,
    rate_limit: { limit: rateLimit?.limit ?? 0, remaining: rateLimit?.remaining ?? null },
    subscriptions,
    endpoint: shownEndpoint(application, endpoint, pending, nextAttemptAt(dueAt, endpoint, now)),
    notices: notices.map(shownNotice),
    secrets: secrets.map(shownSecret),
  });
}

/** Returns the public facts about a secret, without the secret. */
export function shownSecret({ kind, prefix, created_at, expires_at }: SecretInForce): Static<typeof Secret> {
  return { kind, prefix, created_at: isoTime(created_at), expires_at: isoTimeOrNull(expires_at) };
}

function shownEndpoint(
  application: Application,
  endpoint: Endpoint,
  pending: number,
  nextAt: number | null,
): Static<typeof EndpointState> {
  const { status, disabled_reason } = healthOf(endpoint, application);
  const { disabled_at, failing_since, failures, last_success_at } = endpoint;
  const isCalled = !usesOnlyStream(application) && application.webhook_url !== null;
  const since = isCalled ? (disabled_at ?? failing_since) : null;
  return {
    status,
    disabled_reason,
    since: since === null ? null : isoTime(since),
    failures: isCalled ? failures : 0,
    last_success_at: isoTimeOrNull(last_success_at),
    last_failure: shownFailure(endpoint),
    pending,
    next_attempt_at: isoTimeOrNull(isCalled ? nextAt : null),
    ...endpointSummary(application, endpoint, { isSending: pending > 0 && nextAt === null }),
  };
}

const path = "/public/v1/application";

/** Changes per minute and application. Each one writes, and some make thousands of retries due. */
const changesPerMinute = 30;

/** The number of notices in the response. */
const shownNotices = 5;

const OwnApplication = dataOf(OwnApplicationSchema, {
  description: "The application.",
  example: exampleOwnApplication,
});

const RotationBody = Type.Object(rotationFields, {
  $id: "RotationInput",
  description: "How long older secrets remain valid.",
  ...otherFieldsIgnored,
  examples: [{ overlap_seconds: 3600 }],
});

const NewSecretSchema = named("NewWebhookSecret", "A new webhook secret.", {
  webhook_secret: Type.String({ description: "The new secret. It is shown only once." }),
  overlap_until: OverlapUntil,
});
const NewSecret = dataOf(NewSecretSchema, {
  description: "The new secret.",
  example: { webhook_secret: "whsec_…", overlap_until: "2026-01-14T17:08:06.123Z" },
});

/** Get Application, Change Application, Rotate Webhook Secret and Enable Endpoint. */
export function applicationRoutes(
  app: TokenListener,
  { store, engine, access, catalogue, now, log, allowPrivateWebhooks, defaultSubscriptionLimit }: PublicDeps,
): void {
  const answerFor = async (application: Application) => {
    const { id, subscription_limit, rate_limit } = application;
    const [endpoint, dueAt, notices, secrets, used, pending] = await Promise.all([
      store.endpoints.find(id),
      store.endpoints.dueAt(id),
      store.notices.page(id, null, shownNotices),
      store.applications.secretsInForce(id, now()),
      store.subscriptions.count(id),
      store.deliveries.pendingOf(id),
    ]);
    const subscriptions = { used, limit: subscription_limit ?? defaultSubscriptionLimit() };
    const rateLimit = access.limiter.peek(id, rate_limit ?? access.defaultRateLimit);
    const known = { notices, secrets, subscriptions, rateLimit, dueAt, pending, now: now() };
    const data = shownOwn(application, { ...known, endpoint: endpoint ?? newEndpoint(id) });
    return { data, message: "OK" };
  };

  /** Takes a change from the application's limit. Throws `rate_limited`. */
  const takeChange = (applicationId: string) =>
    requireWithinLimit(access.limiter.take(`changes of ${applicationId}`, changesPerMinute), "changes");

  /** Adds a change to the audit log. Never rejects, because the change is already stored. */
  const note = async (
    action: string,
    { id, name }: Application,
    requestContext: RequestContext,
    change: AuditedChange = { object_name: name, changes: [] },
    fields: readonly string[] = [],
  ) => {
    const entry = newAuditEntry({
      at: now(),
      actor_kind: "application",
      actor_id: id,
      actor_name: name,
      action,
      object: "applications",
      object_id: id,
      ...change,
      fields,
      address: requestContext.clientAddress,
      request_id: requestContext.requestId,
    });
    await store.audit.add(entry).catch((error) => log.failure("audit_failed", error));
  };

  app.get(path, ({ caller }) => answerFor(caller.application), {
    application: "reads",
    response: { 200: OwnApplication },
    detail: {
      operationId: "getOwnApplication",
      tags: ["Application"],
      summary: "Get Application",
      description:
        "Returns the application of the token, with the state of its endpoint, its limits, and the prefix and age of its secrets. Requires a token of the application itself (`client_credentials`), with any scope.",
    },
  });

  app.patch(
    path,
    async ({ body, caller: { application }, requestContext }) => {
      const { webhook_url, webhook_headers, filters, delivery, redirect_uris } = body;
      const { id, client_type, locked } = application;
      takeChange(id);
      requireUnlocked(locked, body);
      const wrong = receivingProblems(body, client_type, { allowPrivateWebhooks, catalogue });
      if (wrong.length > 0) throw invalidFields(wrong);
      const changes = {
        ...(webhook_url !== undefined && { webhook_url }),
        ...(webhook_headers !== undefined && { webhook_headers }),
        ...(filters !== undefined && { filters }),
        ...(delivery && { delivery }),
        ...(redirect_uris && { redirect_uris }),
      };
      const fields = Object.keys(changes);
      if (fields.length === 0) return answerFor(application);
      const changed = stillExisting(await store.applications.update(id, changes, now(), "developer"));
      const change = applicationChange(application, changed);
      await note("changeOwnApplication", application, requestContext, change, fields);
      return answerFor(changed);
    },
    {
      application: "changes",
      body: OwnChangesInput,
      response: { 200: OwnApplication },
      errors: ["locked"],
      detail: {
        operationId: "changeOwnApplication",
        tags: ["Application"],
        summary: "Change Application",
        description: `Changes the fields in the body. The change applies to every delivery that starts after the response. A new webhook URL is a new endpoint: it is enabled, and pending deliveries are sent to it. Values of \`webhook_headers\` are shown masked. A wrong filter is refused with its place, such as \`filters["chat.message.sent"].content.$startWith\`. A field that the platform has locked causes 403 \`locked\`. Requires a token of the application itself with all of its scopes. At most ${changesPerMinute} changes per minute.`,
      },
    },
  );

  app.post(
    `${path}/webhook-secret`,
    async ({ body, caller: { application }, requestContext }) => {
      takeChange(application.id);
      const rotation = rotationOf(body, now());
      const webhook_secret = newWebhookSecret();
      stillExisting(await store.applications.rotateWebhookSecret(application.id, webhook_secret, rotation));
      const change = rotationChange(application.name, rotation);
      await note("rotateOwnWebhookSecret", application, requestContext, change);
      return { data: { webhook_secret, overlap_until: overlapEnd(rotation) }, message: "OK" };
    },
    {
      application: "changes",
      body: Type.Optional(RotationBody),
      response: { 200: NewSecret },
      errors: ["conflict"],
      detail: {
        operationId: "rotateOwnWebhookSecret",
        tags: ["Application"],
        summary: "Rotate Webhook Secret",
        description:
          "Creates a new webhook secret, which is shown only once. During the overlap, every delivery is signed with the new and the older secrets. Requires a token of the application itself with all of its scopes.",
      },
    },
  );

  app.post(
    `${path}/endpoint/enable`,
    async ({ caller: { application }, requestContext }) => {
      const { id, webhook_url } = application;
      takeChange(id);
      if (webhook_url === null) {
        throw new DomainError(
          "conflict",
          "This application has no webhook URL; set one with PATCH /public/v1/application",
        );
      }
      await engine.enable(id);
      await note("enableOwnEndpoint", application, requestContext);
      return answerFor(application);
    },
    {
      application: "changes",
      response: { 200: OwnApplication },
      errors: ["conflict"],
      detail: {
        operationId: "enableOwnEndpoint",
        tags: ["Application"],
        summary: "Enable Endpoint",
        description: `Tries a failing endpoint now, or enables a disabled one: its pending deliveries are due now, beginning with one at a time, and use up none of their retries. An enabled endpoint is not changed. Recorded in the audit log. At most ${changesPerMinute} changes per minute. Requires a token of the application itself with all of its scopes.`,
      },
    },
  );
}

/** Returns the changed application. Throws if it was deleted during the request. */
function stillExisting(changed: Application | null): Application {
  if (changed === null) throw ownerGone();
  return changed;
}
