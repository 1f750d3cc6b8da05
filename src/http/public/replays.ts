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
  { getReplay: "Gets the replay with its progress.", cancelReplay: "Cancels the replay." },
  "/data/id",
);

const OneReplay = dataOf(ReplaySchema, {
  links,
  description: "The replay with its progress.",
  example: exampleReplay,
});

const Replays = listOf(ReplaySchema, {
  order: "Replays, the newest first.",
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
        description: `Starts a job that sends the deliveries of a range of time again, with the same \`webhook-id\`s. The job survives restarts of the server and does not delay new events. Deliveries that cannot be sent again are counted in \`skipped\`. At most ${replayLimits.maxRunning.application} replays run at once for an application, and two that could send the same delivery never run at the same time. With user tokens, at most ${replayLimits.maxRunning.user} runs for each user and ${replayLimits.maxRunning.users} for all users of the application; these do not block replays of the application itself. With \`dry_run\`, deliveries are only counted.`,
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
        description: `Returns up to ${replayLimits.maxListed.application} replays of the calling application, the newest first. With a user token, it returns only those created with tokens of that user.`,
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
        description: "Returns one replay with its progress.",
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
