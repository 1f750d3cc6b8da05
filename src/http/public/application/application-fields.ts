import { type Static, Type } from "@sinclair/typebox";
import {
  type Application,
  clientTypes,
  lockableFields,
  type SecretInForce,
  secretKinds,
  usesOnlyStream,
} from "../../../domain/applications.ts";
import type { Endpoint } from "../../../domain/endpoints.ts";
import { exampleUser } from "../../../domain/examples.ts";
import type { Notice } from "../../../domain/operations/notices.ts";
import { isoTime, isoTimeOrNull } from "../../../domain/time.ts";
import { about, Id, nullable, oneOf } from "../../../domain/validation/fields.ts";
import { maskedWebhookHeaders } from "../../../domain/webhook-headers.ts";
import { endpointSummary } from "../../../webhooks/endpoint-summary.ts";
import { IsoTimestamp, named, otherFieldsIgnored, picked, Ulid } from "../../fields.ts";
import type { RateLimitState } from "../../rate-limit.ts";
import { DisabledReason, endpointFields, healthOf, shownFailure } from "./endpoint-fields.ts";
import { NoticeSchema, shownNotice } from "./notices.ts";
import { receivingFields, ShownWebhookHeaders } from "./receiving-fields.ts";

/*
 * Schemas of an application as its own developer sees it.
 */

const { webhook_url, webhook_headers, delivery, redirect_uris } = receivingFields;

const { status, failures, last_failure, summary, advice } = endpointFields;
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

export const OwnChangesInput = Type.Partial(
  Type.Object({ webhook_url, webhook_headers, delivery, redirect_uris }),
  {
    $id: "OwnApplicationChanges",
    description:
      "The fields to change. Fields that are absent keep their values; unknown fields are ignored.",
    ...otherFieldsIgnored,
    examples: [{ webhook_url: "https://bot.example/webhook" }],
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
    summary: "Failing since 2026-01-14T16:08:11.402Z, 3 attempts. The answer was 404.",
    advice:
      "It answered 404: is the path of the webhook URL right? Send a test; retries continue automatically.",
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
  readonly endpoint: Endpoint;
  readonly notices: readonly Notice[];
  readonly secrets: readonly SecretInForce[];
  readonly subscriptions: { readonly used: number; readonly limit: number };
  /** null means unlimited. */
  readonly rateLimit: Pick<RateLimitState, "limit" | "remaining"> | null;
}

/** Returns an application as its developer sees it: without fields that only operators see, and without secrets. */
export function shownOwn(
  application: Application,
  { endpoint, notices, secrets, subscriptions, rateLimit }: Circumstances,
) {
  return picked(OwnApplicationSchema.properties, {
    ...application,
    webhook_headers: maskedWebhookHeaders(application.webhook_headers),
    client_id: application.id,
    rate_limit: { limit: rateLimit?.limit ?? 0, remaining: rateLimit?.remaining ?? null },
    subscriptions,
    endpoint: shownEndpoint(application, endpoint),
    notices: notices.map(shownNotice),
    secrets: secrets.map(shownSecret),
  });
}

/** Returns the public facts about a secret, without the secret. */
export function shownSecret({ kind, prefix, created_at, expires_at }: SecretInForce): Static<typeof Secret> {
  return { kind, prefix, created_at: isoTime(created_at), expires_at: isoTimeOrNull(expires_at) };
}

function shownEndpoint(application: Application, endpoint: Endpoint): Static<typeof EndpointState> {
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
    ...endpointSummary(application, endpoint),
  };
}
