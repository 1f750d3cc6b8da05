import { Type } from "@sinclair/typebox";
import { usesOnlyStream } from "../../domain/applications.ts";
import { type Endpoint, endpointStatus, newEndpoint } from "../../domain/endpoints.ts";
import { DomainError } from "../../domain/errors.ts";
import { about, nullable } from "../../domain/fields.ts";
import { isoTime } from "../../domain/time.ts";
import { replyJson } from "../exchange.ts";
import { readParam } from "../query.ts";
import type { PublicDeps, PublicListener } from "./base.ts";
import { scopeOf } from "./deliveries.ts";
import { answer, IsoTimestamp, Message, operation } from "./reference.ts";
import { exampleSubscription, subscriptionFields } from "./subscriptions.ts";

const closed = { additionalProperties: false };

const SubscriptionId = Type.Object({
  id: Type.String({
    maxLength: 64,
    description: "Id of the subscription.",
    examples: [exampleSubscription.id],
  }),
});

export const LastFailure = Type.Object(
  {
    at: about(IsoTimestamp, "When it was."),
    status: nullable(Type.Integer(), { description: "The HTTP status; null where none arrived." }),
    error: nullable(Type.String(), { description: "Why it was no success, in one sentence." }),
  },
  { $id: "LastFailure", description: "When and how an endpoint last failed.", ...closed },
);

const DisabledReason = Type.Union(
  ["gone", "failing", "no_webhook_url"].map((reason) => Type.Literal(reason)),
  {
    $id: "DisabledReason",
    description: "It answered 410, failed everything for 24 hours, or the application has no webhook URL.",
  },
);

const HealthSchema = Type.Object(
  {
    ...subscriptionFields,
    status: Type.Union(
      ["enabled", "failing", "disabled"].map((status) => Type.Literal(status)),
      {
        description:
          "Of the endpoint: `failing` since a failure that no success followed, `disabled` when nothing is sent to it any more.",
      },
    ),
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
  },
  { $id: "SubscriptionHealth", description: "A subscription with its health.", ...closed },
);

/** Get Event Subscription: the record with its health. */
export function healthRoutes(app: PublicListener, { store }: PublicDeps): void {
  const timeOrNull = (ms: number | null) => (ms === null ? null : isoTime(ms));

  app.get(
    "/public/v1/events/subscriptions/:id",
    async ({ exchange, params }) => {
      const { application_id, broadcaster_user_id } = scopeOf(exchange);
      const id = readParam("id", params.id, SubscriptionId.properties.id);
      const found = await store.subscriptions.find(application_id, id);
      const isVisible = broadcaster_user_id === null || found?.broadcaster_user_id === broadcaster_user_id;
      if (!found || !isVisible) throw new DomainError("not_found", "There is no subscription with this id");
      const endpoint = (await store.endpoints.find(application_id)) ?? newEndpoint(application_id);
      const application = await store.applications.find(application_id);
      const { pending, oldest_pending_at } = await store.deliveries.backlog(application_id, id);
      const { sequence, ...record } = found;
      const hasUrl = application !== null && application.webhook_url !== null;
      const isWell = application !== null && usesOnlyStream(application);
      const { last_failure_at, last_failure_status: status, last_failure_error: error } = endpoint;
      const data = {
        ...record,
        // A stream cannot fail.
        ...(isWell ? { status: "enabled", disabled_reason: null } : healthOf(endpoint, hasUrl)),
        pending,
        oldest_pending_at: timeOrNull(oldest_pending_at),
        last_success_at: timeOrNull(endpoint.last_success_at),
        last_failure: last_failure_at === null ? null : { at: isoTime(last_failure_at), status, error },
        sequence,
      };
      return replyJson(exchange, 200, { data, message: "OK" });
    },
    operation({
      id: "getSubscription",
      tag: "Event subscriptions",
      summary: "Get Event Subscription",
      description:
        "One subscription with its health: whether its endpoint takes what is sent, why not, and what waits.",
      access: "events:subscribe",
      params: SubscriptionId,
      answers: {
        200: answer("The subscription.", {
          schema: Type.Object(
            { data: HealthSchema, message: Message },
            { $id: "SubscriptionHealthAnswer", description: "One subscription.", ...closed },
          ),
          example: {
            data: {
              ...exampleSubscription,
              status: "failing",
              disabled_reason: null,
              pending: 3,
              oldest_pending_at: "2026-01-14T16:08:06.123Z",
              last_success_at: "2026-01-14T16:01:12.000Z",
              last_failure: { at: "2026-01-14T16:08:11.402Z", status: 503, error: "The answer was 503." },
              sequence: 42,
            },
            message: "OK",
          },
        }),
      },
      errors: ["not_found"],
    }),
  );
}

function healthOf(endpoint: Endpoint, hasUrl: boolean) {
  return hasUrl
    ? { status: endpointStatus(endpoint), disabled_reason: endpoint.disabled_reason }
    : { status: "disabled", disabled_reason: "no_webhook_url" };
}
