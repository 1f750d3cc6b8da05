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

export const LastFailure = named("LastFailure", "When and how an endpoint last failed.", {
  at: about(IsoTimestamp, "When it was."),
  status: nullable(Type.Integer(), { description: "The HTTP status; null where none arrived." }),
  error: nullable(Type.String(), { description: "Why it was no success, in one sentence." }),
});

export const DisabledReason = oneOf(["gone", "failing", "no_webhook_url"], {
  $id: "DisabledReason",
  description: "It answered 410, failed everything for 24 hours, or the application has no webhook URL.",
});

/** What every description of an endpoint has. */
export const endpointFields = {
  status: oneOf(["enabled", "failing", "disabled"], {
    description: "`failing`: nothing succeeded since a failure. `disabled`: nothing is sent.",
  }),
  failures: Type.Integer({ description: "Failed attempts since the last success." }),
  last_failure: nullable(LastFailure, { description: "null where it has not failed." }),
  summary: Type.String({ description: "The state in one sentence. Its words may change." }),
  advice: nullable(Type.String(), {
    description: "What to do next; null where nothing is to do. Its words may change.",
  }),
};

const HealthSchema = named("SubscriptionHealth", "A subscription with its health.", {
  ...subscriptionFields,
  status: oneOf(["enabled", "failing", "disabled"], {
    description:
      "Of the endpoint: `failing` since a failure that no success followed, `disabled` when nothing is sent to it any more.",
  }),
  disabled_reason: nullable(DisabledReason, { description: "null where it is not disabled." }),
  pending: Type.Integer({ description: "Deliveries that wait to be sent, counted up to 5000." }),
  oldest_pending_at: nullable(IsoTimestamp, { description: "When the oldest of them was published." }),
  last_success_at: nullable(IsoTimestamp, {
    description: "When the endpoint last took a delivery, of any subscription; exact to 5 seconds.",
  }),
  last_failure: nullable(LastFailure, {
    description: "The last failure of the endpoint, of any subscription.",
  }),
  sequence: Type.Integer({
    description: "The last `Onair-Sequence`: how many deliveries were made for it.",
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

/** The last failure of an endpoint; null where it has not failed. */
export function shownFailure(endpoint: Endpoint): Static<typeof LastFailure> | null {
  const { last_failure_at, last_failure_status: status, last_failure_error: error } = endpoint;
  return last_failure_at === null ? null : { at: isoTime(last_failure_at), status, error };
}

/** Get Event Subscription: the record with its health. */
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
          "One subscription with its health: whether its endpoint takes what is sent, why not, and what waits.",
      },
    },
  );
}

/** The status of an application's endpoint as its developer sees it. */
export function healthOf(endpoint: Endpoint, application: Application) {
  // Without a webhook there is no endpoint to fail.
  if (usesOnlyStream(application)) return { status: "enabled", disabled_reason: null } as const;
  if (application.webhook_url === null)
    return { status: "disabled", disabled_reason: "no_webhook_url" } as const;
  return { status: endpointStatus(endpoint), disabled_reason: endpoint.disabled_reason };
}
