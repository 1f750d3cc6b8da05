import { replayLimits } from "../../domain/replays.ts";
import { dataOf, linksTo, listOf, noContent } from "../answers.ts";
import { existing, notFound } from "../errors.ts";
import type { PublicDeps, TokenListener } from "./base.ts";
import { scopeOf } from "./deliveries.ts";
import {
  exampleReplay,
  newReplay,
  ReplayId,
  ReplayInput,
  ReplaySchema,
  shownReplay,
  startReplay,
} from "./replay-fields.ts";

const path = "/public/v1/events/replays";

const links = linksTo(
  { getReplay: "The replay with its progress.", cancelReplay: "Ends the replay." },
  "/data/id",
);

const OneReplay = dataOf(ReplaySchema, {
  links,
  description: "The replay as far as it has come.",
  example: exampleReplay,
});

const Replays = listOf(ReplaySchema, {
  order: "The newest first.",
  description: "The replays.",
  example: exampleReplay,
});

/** Replays: create, list, get and cancel. */
export function replayRoutes(app: TokenListener, { store, now }: PublicDeps): void {
  app.post(
    path,
    async ({ body, caller, status }) => {
      const replay = await newReplay(body, scopeOf(caller), store, now());
      return status(202, { data: shownReplay(await startReplay(store, replay)), message: "OK" });
    },
    {
      scope: "events:subscribe",
      body: ReplayInput,
      response: { 202: OneReplay },
      errors: ["conflict"],
      detail: {
        operationId: "createReplay",
        tags: ["Deliveries"],
        description: `Sends the deliveries of a range of time again, with the same \`webhook-id\`s, in a job that goes on across restarts, at a pace that does not hold up new events. What cannot be sent again is counted as skipped. At most ${replayLimits.maxRunning.application} run at once for an application, and none beside another that could send the same delivery. With the tokens of users ${replayLimits.maxRunning.user} runs at once for each and ${replayLimits.maxRunning.users} for all of them, which are no obstacle to the application's own. With \`dry_run\` they are only counted.`,
      },
    },
  );

  app.get(
    path,
    async ({ caller }) => {
      const found = await store.replays.page(scopeOf(caller), replayLimits.maxListed.application);
      return { data: found.map(shownReplay), message: "OK" };
    },
    {
      scope: "events:subscribe",
      response: { 200: Replays },
      detail: {
        operationId: "getReplays",
        tags: ["Deliveries"],
        description: `The replays of the calling application, the newest first, at most ${replayLimits.maxListed.application}; with a user token, those made with tokens of that user.`,
      },
    },
  );

  app.get(
    `${path}/:id`,
    async ({ params: { id }, caller }) => {
      const found = existing(await store.replays.find(scopeOf(caller), id), "replay");
      return { data: shownReplay(found), message: "OK" };
    },
    {
      scope: "events:subscribe",
      params: ReplayId,
      response: { 200: OneReplay },
      errors: ["not_found"],
      detail: {
        operationId: "getReplay",
        tags: ["Deliveries"],
        description: "One replay with its progress.",
      },
    },
  );

  app.delete(
    `${path}/:id`,
    async ({ params: { id }, caller, status }) => {
      if (!(await store.replays.cancel(scopeOf(caller), id, now()))) throw notFound("replay");
      return status(204, undefined);
    },
    {
      scope: "events:subscribe",
      params: ReplayId,
      response: { 204: noContent("It does not run (any more).") },
      errors: ["not_found"],
      detail: {
        operationId: "cancelReplay",
        tags: ["Deliveries"],
        description:
          "Ends a replay: nothing more is queued. What it has queued is still sent. One that has ended stays as it is.",
      },
    },
  );
}
