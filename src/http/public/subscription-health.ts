import { Type } from "@sinclair/typebox";
import { endpointStatuses, newEndpoint } from "../../domain/endpoints.ts";
import { isoTimeOrNull } from "../../domain/time.ts";
import { nullable, oneOf } from "../../domain/validation/fields.ts";
import { dataOf } from "../answers.ts";
import { notFound } from "../errors.ts";
import { IsoTimestamp, named } from "../fields.ts";
import { TextParameter } from "../parameters.ts";
import { DisabledReason, healthOf, LastFailure, shownFailure } from "./application/endpoint-fields.ts";
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

const HealthSchema = named("SubscriptionHealth", "A subscription with its health.", {
  ...subscriptionFields,
  status: oneOf(endpointStatuses, {
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

/** Get Event Subscription. */
export function subscriptionHealthRoute(app: TokenListener, { store }: PublicDeps): void {
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
