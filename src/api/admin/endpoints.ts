import { type Static, Type } from "@sinclair/typebox";
import { endpointSummary } from "../../delivery/diagnosis.ts";
import type { Application } from "../../domain/applications.ts";
import {
  disabledReasons,
  type Endpoint,
  endpointStatus,
  newEndpoint,
  nextAttemptAt,
} from "../../domain/endpoints.ts";
import { endpointNotices, type Notice, sendingStatuses, serverNotices } from "../../domain/notices.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { answer, answerOf, pageOf } from "../http/answers.ts";
import { pagedList } from "../http/cursors.ts";
import { existing } from "../http/errors.ts";
import { IsoTimestamp, named, noOtherFields, Ulid } from "../http/parameters.ts";
import { endpointFields, exampleNotice, PendingCount, shownFailure } from "../public/endpoint.ts";
import {
  NamedSubscriptionPage,
  namedSubscriptionList,
  subscriptionFilters,
} from "../public/subscriptions.ts";
import {
  ApplicationIdParameter,
  ApplicationParams,
  exampleApplication,
  pageOfApplication,
} from "./application-fields.ts";
import { type AdminDeps, type AdminListener, operators, readers } from "./listener.ts";

/*
 * Endpoints, their backlog and subscriptions, and notices about them and about the server.
 */

const DisabledReason = oneOf(disabledReasons, {
  $id: "DisabledReason",
  description:
    "Why the endpoint is disabled. `gone`: it answered 410. `failing`: every attempt failed for 24 hours.",
});

const { status, failures, last_failure, next_attempt_at, summary, advice } = endpointFields;
export const EndpointSchema = named("Endpoint", "The endpoint of an application and its state.", {
  app_id: Type.String({ description: "Id of the application." }),
  app_name: Type.String({ description: "Name of the application." }),
  status,
  disabled_reason: nullable(DisabledReason, {
    description: "Why the endpoint is disabled; null if it is not.",
  }),
  disabled_at: nullable(IsoTimestamp, { description: "Time at which it was disabled; null if it is not." }),
  failing_since: nullable(IsoTimestamp, {
    description: "First failure since the last success; null if there is none.",
  }),
  failures,
  last_success_at: nullable(IsoTimestamp, {
    description: "Time of the last success; null if there was none.",
  }),
  last_failure,
  next_attempt_at,
  summary,
  advice,
});

const exampleEndpoint: Static<typeof EndpointSchema> = {
  app_id: exampleApplication.id,
  app_name: exampleApplication.name,
  status: "disabled",
  disabled_reason: "failing",
  disabled_at: "2026-01-15T16:08:06.123Z",
  failing_since: "2026-01-14T16:08:06.123Z",
  failures: 214,
  last_success_at: "2026-01-14T16:01:12.000Z",
  last_failure: { at: "2026-01-15T16:08:06.123Z", status: 404, error: "The answer was 404." },
  next_attempt_at: null,
  summary: "Disabled since 2026-01-15T16:08:06.123Z: every attempt failed for 24 hours. The answer was 404.",
  advice:
    "It answered 404: is the path of the webhook URL right? Fix that, then enable the endpoint. Events for it are kept for 3 days.",
};

const Endpoints = pageOf(EndpointSchema, {
  order: "Endpoints, by application.",
  description: "A page of endpoints.",
  example: exampleEndpoint,
});

const PendingEndpoint = Type.Composite([EndpointSchema, Type.Object({ pending: PendingCount })], {
  $id: "EndpointWithPending",
  description: "The endpoint of an application, its state, and its pending deliveries.",
  ...noOtherFields,
});

const FoundEndpoint = answerOf(PendingEndpoint, {
  description: "The endpoint.",
  example: { ...exampleEndpoint, pending: 214 },
});

const EnabledEndpoint = answerOf(PendingEndpoint, {
  description: "The enabled endpoint.",
  example: {
    ...exampleEndpoint,
    pending: 0,
    status: "enabled",
    disabled_reason: null,
    disabled_at: null,
    failing_since: null,
    failures: 0,
    summary: "The endpoint accepts deliveries, the last one at 2026-01-14T16:01:12.000Z.",
    advice: null,
  },
});

/** An endpoint with its application. */
interface Known {
  readonly endpoint: Endpoint;
  readonly application: Application;
  /** When its earliest pending delivery is due; null when none waits. */
  readonly dueAt: number | null;
}

function shownEndpoint(
  { endpoint, application, dueAt }: Known,
  now: number,
  isPending = false,
): Static<typeof EndpointSchema> {
  const nextAt = nextAttemptAt(dueAt, endpoint, now);
  return {
    app_id: endpoint.application_id,
    app_name: application.name,
    status: endpointStatus(endpoint),
    disabled_reason: endpoint.disabled_reason,
    disabled_at: isoTimeOrNull(endpoint.disabled_at),
    failing_since: isoTimeOrNull(endpoint.failing_since),
    failures: endpoint.failures,
    last_success_at: isoTimeOrNull(endpoint.last_success_at),
    last_failure: shownFailure(endpoint),
    next_attempt_at: isoTimeOrNull(nextAt),
    ...endpointSummary(application, endpoint, {
      isSending: isPending && nextAt === null,
      isForOperator: true,
    }),
  };
}

/** Endpoints that are failing or disabled: list, get and enable. */
export function endpointRoutes(app: AdminListener, { store, engine, cursors, now }: AdminDeps): void {
  const list = pagedList("endpoints", cursors);
  const failing = async (after: string | null, limit: number): Promise<Known[]> => {
    const found = (await store.endpoints.failing())
      .filter(({ application_id }) => application_id > (after ?? ""))
      .sort((a, b) => (a.application_id < b.application_id ? -1 : 1))
      .slice(0, limit);
    const known = await Promise.all(
      found.map(async (endpoint) => ({
        endpoint,
        application: await store.applications.find(endpoint.application_id),
        dueAt: await store.endpoints.dueAt(endpoint.application_id),
      })),
    );
    return known.flatMap(({ application, ...rest }) => (application ? [{ application, ...rest }] : []));
  };
  const endpointOf = async (application: Application) => {
    const { id } = application;
    const [found, dueAt, pending] = await Promise.all([
      store.endpoints.find(id),
      store.endpoints.dueAt(id),
      store.deliveries.pendingOf(id),
    ]);
    const state = shownEndpoint(
      { endpoint: found ?? newEndpoint(id), application, dueAt },
      now(),
      pending > 0,
    );
    return { ...state, pending };
  };

  app.get(
    "/admin/v1/endpoints",
    ({ query }) =>
      list.page(query, {
        read: failing,
        positionOf: ({ application }) => application.id,
        toJson: (known) => shownEndpoint(known, now()),
      }),
    {
      roles: readers,
      query: list.query,
      response: { 200: Endpoints },
      detail: {
        operationId: "getEndpoints",
        tags: ["Deliveries"],
        summary: "List Endpoints",
        description:
          "Returns the endpoints that are failing or disabled, by application. On the last page, `cursor` is empty.",
      },
    },
  );

  app.get(
    "/admin/v1/applications/:id/endpoint",
    async ({ params: { id } }) => endpointOf(existing(await store.applications.find(id))),
    {
      roles: readers,
      params: ApplicationParams,
      response: { 200: FoundEndpoint },
      errors: ["not_found"],
      detail: {
        operationId: "getEndpoint",
        tags: ["Deliveries"],
        description:
          "Returns the state of an application's endpoint. An endpoint to which nothing was sent yet is `enabled`.",
      },
    },
  );

  app.post(
    "/admin/v1/applications/:id/endpoint/enable",
    async ({ params: { id }, requestContext }) => {
      const application = existing(await store.applications.find(id));
      await engine.enable(id);
      requestContext.change = { object_name: application.name, changes: [] };
      return endpointOf(application);
    },
    {
      roles: operators,
      params: ApplicationParams,
      response: { 200: EnabledEndpoint },
      errors: ["not_found"],
      detail: {
        operationId: "enableEndpoint",
        tags: ["Deliveries"],
        description:
          "Tries a failing endpoint now, or enables a disabled one: its pending deliveries are due now, beginning with one at a time, and use up none of their retries. An enabled endpoint is not changed.",
      },
    },
  );
}

const Backlog = answer(
  {
    pending: Type.Integer({
      minimum: 0,
      description: "Number of pending deliveries; 500000 means 500000 or more.",
    }),
    oldest_pending_at: nullable(IsoTimestamp, {
      description: "Time at which the oldest of them was published; null if none is pending.",
    }),
  },
  {
    name: "Backlog",
    description: "The pending deliveries of all applications.",
    example: { pending: 12, oldest_pending_at: "2026-01-14T16:08:06.123Z" },
  },
);

/** Get Backlog: the number of pending deliveries, and the age of the oldest. */
export function backlogRoute(app: AdminListener, { store }: AdminDeps): void {
  app.get(
    "/admin/v1/backlog",
    async () => {
      const { pending, oldest_pending_at } = await store.deliveries.backlogOfAll();
      return { pending, oldest_pending_at: isoTimeOrNull(oldest_pending_at) };
    },
    {
      roles: readers,
      response: { 200: Backlog },
      detail: {
        operationId: "getBacklog",
        tags: ["Deliveries"],
        description:
          "Returns the number of pending deliveries of all applications, and the publishing time of the oldest. `/metrics` has the same values.",
      },
    },
  );
}

/** List Subscriptions, of an application or to events of a channel. */
export function subscriptionRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = namedSubscriptionList(store, cursors);
  app.get(
    "/admin/v1/subscriptions",
    async ({ query }) => {
      const {
        application_id: app_id = null,
        broadcaster_user_id = null,
        channel = null,
        event = null,
      } = query;
      const filter = { app_id, broadcaster_user_id, channel, event };
      return pageOfApplication(store, app_id, await list.page(filter, query, null));
    },
    {
      roles: readers,
      query: Type.Object({
        application_id: Type.Optional(ApplicationIdParameter),
        ...subscriptionFilters,
        ...list.query,
      }),
      response: { 200: NamedSubscriptionPage },
      detail: {
        operationId: "getSubscriptions",
        tags: ["Deliveries"],
        summary: "List Subscriptions",
        description:
          "Returns the subscriptions of all applications with the names of broadcaster and channel. They can be filtered by application and by channel, named by its slug or the id of its broadcaster.",
      },
    },
  );
}

const NoticeSchema = named("Notice", "A notice about an endpoint or the server.", {
  id: about(Ulid, "Id of the notice: its `webhook-id` at the notify URL."),
  type: oneOf([...endpointNotices, ...serverNotices], { description: "Type of the notice." }),
  app_id: nullable(Ulid, { description: "Id of the application; null for a notice about the server." }),
  created_at: about(IsoTimestamp, "Time at which the notice was created."),
  summary: Type.String({ description: "What happened, in one sentence." }),
  advice: nullable(Type.String(), { description: "Recommended action; null if none is needed." }),
  sending: named("NoticeSending", "The delivery of a notice to the notify URL.", {
    status: oneOf(sendingStatuses, {
      description: "Status of the delivery. `unsent`: there was no notify URL.",
    }),
    attempts: Type.Integer({ description: "Number of attempts so far." }),
    next_attempt_at: nullable(IsoTimestamp, {
      description: "Time of the next attempt; null if none follows.",
    }),
    error: nullable(Type.String(), {
      description: "Reason for the failure of the last attempt; null if it did not fail.",
    }),
  }),
});

const exampleListedNotice: Static<typeof NoticeSchema> = {
  id: exampleNotice.id,
  type: exampleNotice.type,
  app_id: exampleNotice.data.application_id,
  created_at: exampleNotice.created_at,
  summary: exampleNotice.data.summary,
  advice: exampleNotice.data.advice,
  sending: { status: "delivered", attempts: 1, next_attempt_at: null, error: null },
};

const Notices = pageOf(NoticeSchema, {
  order: "Notices, the newest first.",
  description: "A page of notices.",
  example: exampleListedNotice,
});

function shownNotice({
  id,
  type,
  application_id,
  created_at,
  body,
  sending,
}: Notice): Static<typeof NoticeSchema> {
  // A boundary: every notice has these two in its data.
  const { data } = JSON.parse(body) as { data: { summary: string; advice: string | null } };
  return {
    id,
    type,
    app_id: application_id,
    created_at: isoTime(created_at),
    summary: data.summary,
    advice: data.advice,
    sending: { ...sending, next_attempt_at: isoTimeOrNull(sending.next_attempt_at) },
  };
}

/** List Notices, of the server and of all applications. */
export function noticeRoutes(app: AdminListener, { store, cursors }: AdminDeps): void {
  const list = pagedList("notices", cursors);
  app.get(
    "/admin/v1/notices",
    async ({ query }) => {
      const { application_id = null } = query;
      const read = (below: number | null, limit: number) => store.notices.page(application_id, below, limit);
      const page = await list.page(query, { read, positionOf: ({ seq }) => seq, toJson: shownNotice });
      return pageOfApplication(store, application_id, page);
    },
    {
      roles: readers,
      query: Type.Object({
        application_id: Type.Optional(ApplicationIdParameter),
        ...list.query.properties,
      }),
      response: { 200: Notices },
      detail: {
        operationId: "getNotices",
        tags: ["Operations"],
        summary: "List Notices",
        description:
          "Returns the notices about endpoints and about the server from the last 30 days, and the status of their delivery to the notify URL (`--notify-url`).",
      },
    },
  );
}
