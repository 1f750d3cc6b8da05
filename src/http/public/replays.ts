import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { replayLimits } from "../../domain/replays.ts";
import { reply, replyJson } from "../exchange.ts";
import { readParam } from "../query.ts";
import type { PublicDeps, PublicListener } from "./base.ts";
import { scopeOf } from "./deliveries.ts";
import { answer, Message, operation } from "./reference.ts";
import {
  exampleReplay,
  exampleReplayInput,
  ReplayId,
  ReplayInput,
  ReplaySchema,
  readReplay,
  shownReplay,
  startReplay,
} from "./replay-fields.ts";

const closed = { additionalProperties: false };
const path = "/public/v1/events/replays";
const tag = "Deliveries";
const one = Type.Object(
  { data: ReplaySchema, message: Message },
  { $id: "ReplayAnswer", description: "One replay.", ...closed },
);
const links = {
  GetReplay: {
    operationId: "getReplay",
    description: "The replay with its progress.",
    parameters: { id: "$response.body#/data/id" },
  },
  CancelReplay: {
    operationId: "cancelReplay",
    description: "Ends the replay.",
    parameters: { id: "$response.body#/data/id" },
  },
};

export const unknownReplay = () => new DomainError("not_found", "There is no replay with this id");

/** Make, list, get and cancel replays. */
export function replayRoutes(app: PublicListener, { store, now }: PublicDeps): void {
  app.post(
    path,
    async ({ exchange, request }) => {
      const replay = await readReplay(request, scopeOf(exchange), store, now());
      const data = shownReplay(await startReplay(store, replay));
      return replyJson(exchange, 202, { data, message: "OK" });
    },
    operation({
      id: "createReplay",
      tag,
      summary: "Create Replay",
      description: `Sends the deliveries of a range of time again, with the same \`webhook-id\`s, in a job that goes on across restarts, at a pace that does not hold up new events. What cannot be sent again is counted as skipped. At most ${replayLimits.maxRunning.application} run at once for an application, and none beside another that could send the same delivery. With the tokens of users ${replayLimits.maxRunning.user} runs at once for each and ${replayLimits.maxRunning.users} for all of them, which are no obstacle to the application's own. With \`dry_run\` they are only counted.`,
      access: "events:subscribe",
      body: { schema: ReplayInput, example: exampleReplayInput },
      answers: {
        202: answer("The replay as far as it has come.", {
          schema: one,
          example: { data: exampleReplay, message: "OK" },
          links,
        }),
      },
      errors: ["conflict"],
    }),
  );

  app.get(
    path,
    async ({ exchange }) => {
      const found = await store.replays.page(scopeOf(exchange), replayLimits.maxListed.application);
      return replyJson(exchange, 200, { data: found.map(shownReplay), message: "OK" });
    },
    operation({
      id: "getReplays",
      tag,
      summary: "Get Replays",
      description: `The replays of the calling application, the newest first, at most ${replayLimits.maxListed.application}; with a user token, those made with tokens of that user.`,
      access: "events:subscribe",
      answers: {
        200: answer("The replays.", {
          schema: Type.Object(
            { data: Type.Array(ReplaySchema, { description: "The newest first." }), message: Message },
            { $id: "ReplayList", description: "Replays.", ...closed },
          ),
          example: { data: [exampleReplay], message: "OK" },
        }),
      },
    }),
  );

  app.get(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, ReplayId.properties.id);
      const found = await store.replays.find(scopeOf(exchange), id);
      if (!found) throw unknownReplay();
      return replyJson(exchange, 200, { data: shownReplay(found), message: "OK" });
    },
    operation({
      id: "getReplay",
      tag,
      summary: "Get Replay",
      description: "One replay with its progress.",
      access: "events:subscribe",
      params: ReplayId,
      answers: {
        200: answer("The replay as far as it has come.", {
          schema: one,
          example: { data: exampleReplay, message: "OK" },
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.delete(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, ReplayId.properties.id);
      if (!(await store.replays.cancel(scopeOf(exchange), id, now()))) throw unknownReplay();
      return reply(exchange, 204, null);
    },
    operation({
      id: "cancelReplay",
      tag,
      summary: "Cancel Replay",
      description:
        "Ends a replay: nothing more is queued. What it has queued is still sent. One that has ended stays as it is.",
      access: "events:subscribe",
      params: ReplayId,
      answers: { 204: answer("It does not run (any more).") },
      errors: ["not_found"],
    }),
  );
}
