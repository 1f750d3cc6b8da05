import { Type } from "@sinclair/typebox";
import { valueChanges } from "../../domain/audit.ts";
import { everything } from "../../domain/deliveries.ts";
import { invalidField } from "../../domain/errors.ts";
import { type Replay, replayLimits } from "../../domain/replays.ts";
import { answerOf, linksTo, listOf, noContent, pageOf } from "../http/answers.ts";
import { existing, notFound } from "../http/errors.ts";
import { otherFieldsIgnored, TextParameter } from "../http/parameters.ts";
import {
  DeliveryId,
  DeliverySchema,
  deliveryList,
  exampleDelivery,
  exampleSentDelivery,
  getDeliveryDetail,
  SentDeliverySchema,
  shownDeliveries,
  shownDelivery,
  shownSentDelivery,
} from "../public/deliveries.ts";
import {
  cancelReplayDetail,
  exampleReplay,
  exampleReplayInput,
  getReplayDetail,
  newReplay,
  ReplayId,
  ReplayInput,
  ReplaySchema,
  shownReplay,
  startReplay,
} from "../public/replays.ts";
import { exampleApplication, owned, ownedSchema, pageOfApplication } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, operators, readers } from "./listener.ts";

const OfApplication = Type.Optional(
  TextParameter({
    minLength: 1,
    maxLength: 64,
    description:
      "Returns only deliveries of this application. Without it, a filter that few deliveries match takes many requests.",
  }),
);

export const OwnedDelivery = ownedSchema(DeliverySchema);
export const OwnedSentDelivery = ownedSchema(SentDeliverySchema);
const operatorExample = owned(exampleApplication.id, exampleDelivery);

const Deliveries = pageOf(OwnedDelivery, {
  order: "Deliveries, the newest first.",
  description: "A page of deliveries.",
  links: linksTo(
    {
      getDelivery: "Gets the first delivery with its request.",
      retryDelivery: "Sends the first delivery again.",
    },
    "/data/0/id",
  ),
  example: operatorExample,
});

const OneDelivery = answerOf(OwnedSentDelivery, {
  description: "The delivery.",
  example: owned(exampleApplication.id, exampleSentDelivery),
});

const Retried = answerOf(OwnedDelivery, {
  description: "The delivery is due and will be sent now.",
  example: { ...operatorExample, status: "pending", finished_at: null },
});

/** Deliveries of all applications: list, get and retry. */
export function deliveryRoutes(app: AdminListener, { store, cursors, now }: AdminDeps): void {
  const list = deliveryList(store, cursors);
  app.get(
    "/admin/v1/deliveries",
    async ({ query }) => {
      const { application_id = null } = query;
      const { deliveries, pagination } = await list.page(query, { ...everything, application_id }, null);
      const found = await shownDeliveries(store, deliveries, now());
      const data = found.map((delivery, i) => owned(deliveries[i]?.application_id ?? "", delivery));
      return pageOfApplication(store, application_id, { data, pagination, message: "OK" });
    },
    {
      roles: readers,
      query: Type.Object({ application_id: OfApplication, ...list.query }),
      response: { 200: Deliveries },
      detail: {
        operationId: "getDeliveries",
        tags: ["Deliveries"],
        summary: "List Deliveries",
        description:
          "Returns the deliveries of all applications with their attempts, the newest first. One request searches a bounded part of the log, so a page may have fewer deliveries than `limit`, or none, although `has_more` is true.",
      },
    },
  );

  app.get(
    "/admin/v1/deliveries/:id",
    async ({ params: { id } }) => {
      const found = existing(await store.deliveries.find(everything, id), "delivery");
      const application = await store.applications.find(found.application_id);
      return owned(found.application_id, await shownSentDelivery(store, found, { application, now: now() }));
    },
    {
      roles: readers,
      params: DeliveryId,
      response: { 200: OneDelivery },
      errors: ["not_found"],
      detail: getDeliveryDetail,
    },
  );

  app.post(
    "/admin/v1/deliveries/:id/retry",
    async ({ params: { id }, status, requestContext }) => {
      const at = now();
      const retried = await store.deliveries.retry(everything, id, at);
      const { application_id, type } = retried;
      requestContext.change = { object_name: type, changes: valueChanges(null, { application_id }) };
      return status(202, owned(application_id, shownDelivery(retried, { now: at, endpoint: null })));
    },
    {
      roles: operators,
      params: DeliveryId,
      response: { 202: Retried },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "retryDelivery",
        tags: ["Deliveries"],
        description:
          "Sends a delivery again now, whatever its status, with the same `webhook-id`. Its attempts continue to be counted.",
      },
    },
  );
}

const ownedReplay = (replay: Replay) => owned(replay.application_id, shownReplay(replay));
export const OwnedReplay = ownedSchema(ReplaySchema);
const operatorReplayExample = owned(exampleApplication.id, exampleReplay);

const OneReplay = answerOf(OwnedReplay, {
  description: "The replay with its progress.",
  example: operatorReplayExample,
  links: linksTo({ getReplay: "Gets the replay with its progress.", cancelReplay: "Cancels the replay." }),
});

const Replays = listOf(OwnedReplay, {
  order: "Replays, the newest first.",
  description: "The replays.",
  example: operatorReplayExample,
});

const ReplayOfApplication = Type.Object(
  {
    application_id: Type.String({ minLength: 1, maxLength: 64, description: "Id of the application." }),
    ...ReplayInput.properties,
  },
  {
    $id: "ReplayInput",
    description: "The deliveries to send again.",
    ...otherFieldsIgnored,
    examples: [{ application_id: exampleApplication.id, ...exampleReplayInput }],
  },
);

/** Replays of all applications: create, list, get and cancel. */
export function replayRoutes(app: AdminListener, { store, now }: AdminDeps): void {
  app.post(
    "/admin/v1/replays",
    async ({ body, status, requestContext }) => {
      const { application_id, ...input } = body;
      const application = await store.applications.find(application_id);
      if (!application) throw invalidField("body", "application_id", "is not an application");
      const replay = await newReplay(input, { application_id, broadcaster_user_id: null }, store, now());
      const started = await startReplay(store, replay);
      requestContext.change = { object_name: application.name, changes: valueChanges(null, body) };
      return status(202, ownedReplay(started));
    },
    {
      roles: operators,
      body: ReplayOfApplication,
      response: { 202: OneReplay },
      errors: ["conflict"],
      detail: {
        operationId: "createReplay",
        tags: ["Deliveries"],
        description:
          "Starts a job that sends an application's deliveries of a range of time again, with the same `webhook-id`s. The job survives restarts of the server. With `dry_run`, deliveries are only counted.",
      },
    },
  );

  app.get(
    "/admin/v1/replays",
    async () => {
      const found = await store.replays.page(everything, replayLimits.maxListed.application);
      return { data: found.map(ownedReplay), message: "OK" };
    },
    {
      roles: readers,
      response: { 200: Replays },
      detail: {
        operationId: "getReplays",
        tags: ["Deliveries"],
        summary: "List Replays",
        description: `Returns up to ${replayLimits.maxListed.application} replays of all applications, the newest first.`,
      },
    },
  );

  app.get(
    "/admin/v1/replays/:id",
    async ({ params: { id } }) => {
      const found = existing(await store.replays.find(everything, id), "replay");
      return ownedReplay(found);
    },
    {
      roles: readers,
      params: ReplayId,
      response: { 200: OneReplay },
      errors: ["not_found"],
      detail: getReplayDetail,
    },
  );

  app.delete(
    "/admin/v1/replays/:id",
    async ({ params: { id }, status }) => {
      if (!(await store.replays.cancel(everything, id, now()))) throw notFound("replay");
      return status(204, undefined);
    },
    {
      roles: operators,
      params: ReplayId,
      response: { 204: noContent("The replay is not running.") },
      errors: ["not_found"],
      detail: cancelReplayDetail,
    },
  );
}
