import { type Static, Type } from "@sinclair/typebox";
import { type Application, usesOnlyStream } from "../../domain/applications.ts";
import { type Endpoint, endpointStatus, newEndpoint } from "../../domain/endpoints.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { dataOf } from "../answers.ts";
import { notFound } from "../errors.ts";
import { IsoTimestamp, named } from "../fields.ts";
import { TextParameter } from "../parameters.ts";
import type { PublicDeps, TokenListener } from "./base.ts";
import { scopeOf } from "./deliveries.ts";
import { exampleSubscription, subscriptionFields } from "./subscriptions.ts";

const SubscriptionId = Type.Object({
  id: TextParameter({
    maxLength: 64,
    description: "Id of the subscription.",
    examples: [exampleSubscription.id],
  }),
});

export const LastFailure = named("LastFailure", "The last failed attempt of an endpoint.", {
  at: about(IsoTimestamp, "Time of the failure."),
  status: nullable(Type.Integer(), { description: "HTTP status of the response; null if none arrived." }),
  error: nullable(Type.String(), { description: "Reason for the failure, in one sentence." }),
});

export const DisabledReason = oneOf(["gone", "failing", "no_webhook_url"], {
  $id: "DisabledReason",
  description:
    "Why the endpoint is disabled. `gone`: it answered 410. `failing`: every attempt failed for 24 hours. `no_webhook_url`: the application has no webhook URL.",
});

/** Fields of every schema that describes an endpoint. */
export const endpointFields = {
  status: oneOf(["enabled", "failing", "disabled"], {
    description: "`failing`: no attempt has succeeded since a failure. `disabled`: nothing is sent.",
  }),
  failures: Type.Integer({ description: "Number of failed attempts since the last success." }),
  last_failure: nullable(LastFailure, { description: "Last failed attempt; null if none has failed." }),
  summary: Type.String({ description: "State of the endpoint in one sentence. The wording may change." }),
  advice: nullable(Type.String(), {
    description: "Recommended action; null if none is needed. The wording may change.",
  }),
};

const HealthSchema = named("SubscriptionHealth", "A subscription with its health.", {
  ...subscriptionFields,
  status: oneOf(["enabled", "failing", "disabled"], {
    description:
      "Status of the endpoint. `failing`: no attempt has succeeded since a failure. `disabled`: nothing is sent.",
  }),
  disabled_reason: nullable(DisabledReason, {
    description: "Why the endpoint is disabled; null if it is not.",
  }),
  pending: Type.Integer({ description: "Number of pending deliveries; 5000 means 5000 or more." }),
  oldest_pending_at: nullable(IsoTimestamp, {
    description: "Time at which the oldest of them was published; null if none is pending.",
  }),
  last_success_at: nullable(IsoTimestamp, {
    description: "Last success of the endpoint, for any subscription, accurate to 5 seconds; null if none.",
  }),
  last_failure: nullable(LastFailure, {
    description: "Last failed attempt of the endpoint, for any subscription; null if none has failed.",
  }),
  sequence: Type.Integer({
    description: "Last `Onair-Sequence`: the number of deliveries of the subscription so far.",
  }),
});

const Subscription = dataOf(HealthSchema, {
  description: "The subscription.",
  example: {
    ...exampleSubscription,
    status: "failing",
    disabled_reason: null,
    pending: 3,
    oldest_pending_at: "2026-01-14T16:08:06.123Z",
    last_success_at: "2026-01-14T16:01:12.000Z",
    last_failure: { at: "2026-01-14T16:08:11.402Z", status: 503, error: "The answer was 503." },
    sequence: 42,
  },
});

/** Returns the last failure of an endpoint, or null if it has not failed. */
export function shownFailure(endpoint: Endpoint): Static<typeof LastFailure> | null {
  const { last_failure_at, last_failure_status: status, last_failure_error: error } = endpoint;
  return last_failure_at === null ? null : { at: isoTime(last_failure_at), status, error };
}

/** Get Event Subscription. */
export function healthRoutes(app: TokenListener, { store }: PublicDeps): void {
  app.get(
    "/public/v1/events/subscriptions/:id",
    async ({ params: { id }, caller }) => {
      const { application } = caller;
      const { application_id, broadcaster_user_id } = scopeOf(caller);
      const found = await store.subscriptions.find(application_id, id);
      const isVisible = broadcaster_user_id === null || found?.broadcaster_user_id === broadcaster_user_id;
      if (!found || !isVisible) throw notFound("subscription");
      const endpoint = (await store.endpoints.find(application_id)) ?? newEndpoint(application_id);
      const { pending, oldest_pending_at } = await store.deliveries.backlog(application_id, id);
      const { sequence, ...record } = found;
      const data = {
        ...record,
        ...healthOf(endpoint, application),
        pending,
        oldest_pending_at: isoTimeOrNull(oldest_pending_at),
        last_success_at: isoTimeOrNull(endpoint.last_success_at),
        last_failure: shownFailure(endpoint),
        sequence,
      };
      return { data, message: "OK" };
    },
    {
      scope: "events:subscribe",
      params: SubscriptionId,
      response: { 200: Subscription },
      errors: ["not_found"],
      detail: {
        operationId: "getSubscription",
        tags: ["Event subscriptions"],
        summary: "Get Event Subscription",
        description:
          "Returns one subscription with the state of its endpoint, its pending deliveries, and the last success and failure.",
      },
    },
  );
}

/** Returns the status of an application's endpoint, as the public API shows it. */
export function healthOf(endpoint: Endpoint, application: Application) {
  // An application that uses only the event stream has no endpoint that could fail.
  if (usesOnlyStream(application)) return { status: "enabled", disabled_reason: null } as const;
  if (application.webhook_url === null)
    return { status: "disabled", disabled_reason: "no_webhook_url" } as const;
  return { status: endpointStatus(endpoint), disabled_reason: endpoint.disabled_reason };
}
