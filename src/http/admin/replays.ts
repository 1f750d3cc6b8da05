import { Type } from "@sinclair/typebox";
import { type Replay, replayLimits } from "../../domain/replays.ts";
import type { Store } from "../../store/store.ts";
import { reply, replyJson } from "../exchange.ts";
import { answer, Message } from "../public/reference.ts";
import {
  exampleReplay,
  exampleReplayInput,
  OperatorReplayInput,
  OperatorReplaySchema,
  ReplayId,
  readReplay,
  shownReplay,
  startReplay,
} from "../public/replay-fields.ts";
import { unknownReplay } from "../public/replays.ts";
import { readParam } from "../query.ts";
import { exampleApplication } from "./application-fields.ts";
import type { AdminListener } from "./base.ts";
import { everything } from "./deliveries.ts";
import { adminOperation, closed, linksTo } from "./reference.ts";

const path = "/admin/v1/replays";
const tag = "Deliveries";

const owned = (replay: Replay) => {
  const { id, ...rest } = shownReplay(replay);
  return { id, app_id: replay.application_id, ...rest };
};
const { id, ...rest } = exampleReplay;
const operatorExample = { id, app_id: exampleApplication.id, ...rest };

/** Replays of all applications: make, list, get and cancel. */
export function replayRoutes(app: AdminListener, { store, now }: { store: Store; now: () => number }): void {
  app.post(
    path,
    async ({ exchange, request }) => {
      const replay = await readReplay(request, store, now());
      return replyJson(exchange, 202, owned(await startReplay(store, replay)));
    },
    adminOperation({
      id: "createReplay",
      tag,
      summary: "Create Replay",
      description:
        "Sends the deliveries of an application of a range of time again, with the same `webhook-id`s, in a job that goes on across restarts. With `dry_run` they are only counted.",
      body: {
        json: {
          schema: OperatorReplayInput,
          example: { application_id: exampleApplication.id, ...exampleReplayInput },
        },
      },
      answers: {
        202: answer("The replay as far as it has come.", {
          links: linksTo({ getReplay: "The replay with its progress.", cancelReplay: "Ends the replay." }),
          schema: OperatorReplaySchema,
          example: operatorExample,
        }),
      },
      errors: ["conflict"],
    }),
  );

  app.get(
    path,
    async ({ exchange }) => {
      const data = (await store.replays.page(everything, replayLimits.maxListed.application)).map(owned);
      return replyJson(exchange, 200, { data, message: "OK" });
    },
    adminOperation({
      id: "getReplays",
      tag,
      summary: "List Replays",
      description: `The replays of all applications, the newest first, at most ${replayLimits.maxListed.application}.`,
      answers: {
        200: answer("The replays.", {
          schema: Type.Object(
            {
              data: Type.Array(OperatorReplaySchema, { description: "The newest first." }),
              message: Message,
            },
            { $id: "ReplayList", description: "Replays.", ...closed },
          ),
          example: { data: [operatorExample], message: "OK" },
        }),
      },
    }),
  );

  app.get(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const found = await store.replays.find(everything, readReplayId(params.id));
      if (!found) throw unknownReplay();
      return replyJson(exchange, 200, owned(found));
    },
    adminOperation({
      id: "getReplay",
      tag,
      summary: "Get Replay",
      description: "One replay with its progress.",
      params: ReplayId,
      answers: {
        200: answer("The replay as far as it has come.", {
          schema: OperatorReplaySchema,
          example: operatorExample,
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.delete(
    `${path}/:id`,
    async ({ exchange, params }) => {
      if (!(await store.replays.cancel(everything, readReplayId(params.id), now()))) throw unknownReplay();
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: "cancelReplay",
      tag,
      summary: "Cancel Replay",
      description:
        "Ends a replay: nothing more is queued. What it has queued is still sent. One that has ended stays as it is.",
      params: ReplayId,
      answers: { 204: answer("It does not run (any more).") },
      errors: ["not_found"],
    }),
  );
}

const readReplayId = (text: string) => readParam("id", text, ReplayId.properties.id);
