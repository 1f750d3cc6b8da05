import { everything } from "../../../domain/delivery-log.ts";
import { type Replay, replayLimits } from "../../../domain/replays.ts";
import { answerOf, linksTo, listOf, noContent } from "../../answers.ts";
import { existing, notFound } from "../../errors.ts";
import {
  exampleReplay,
  newOperatorReplay,
  OperatorReplayInput,
  OperatorReplaySchema,
  ReplayId,
  shownReplay,
  startReplay,
} from "../../public/replay-fields.ts";
import { operators, readers } from "../access.ts";
import { exampleApplication, owned } from "../application-fields.ts";
import type { AdminDeps, AdminListener } from "../base.ts";

const shown = (replay: Replay) => owned(replay.application_id, shownReplay(replay));
const operatorExample = owned(exampleApplication.id, exampleReplay);

const OneReplay = answerOf(OperatorReplaySchema, {
  description: "The replay with its progress.",
  example: operatorExample,
  links: linksTo({ getReplay: "Gets the replay with its progress.", cancelReplay: "Cancels the replay." }),
});

const Replays = listOf(OperatorReplaySchema, {
  order: "Replays, the newest first.",
  description: "The replays.",
  example: operatorExample,
});

/** Replays of all applications: create, list, get and cancel. */
export function replayRoutes(app: AdminListener, { store, now }: AdminDeps): void {
  app.post(
    "/admin/v1/replays",
    async ({ body, status }) => {
      const replay = await newOperatorReplay(body, store, now());
      return status(202, shown(await startReplay(store, replay)));
    },
    {
      roles: operators,
      body: OperatorReplayInput,
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
      return { data: found.map(shown), message: "OK" };
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
      return shown(found);
    },
    {
      roles: readers,
      params: ReplayId,
      response: { 200: OneReplay },
      errors: ["not_found"],
      detail: {
        operationId: "getReplay",
        tags: ["Deliveries"],
        description: "Returns one replay with its progress.",
      },
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
      detail: {
        operationId: "cancelReplay",
        tags: ["Deliveries"],
        description:
          "Cancels a replay. No further deliveries are queued; those already queued are still sent. A replay that has ended is not changed.",
      },
    },
  );
}
