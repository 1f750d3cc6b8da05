import { type Static, Type } from "@sinclair/typebox";
import { statusFilters } from "../../domain/deliveries.ts";
import { DomainError, invalidField } from "../../domain/errors.ts";
import { maxId, newId } from "../../domain/ids.ts";
import { checkRange, type NewReplay, type Replay, replayLimits, replayStates } from "../../domain/replays.ts";
import type { Store } from "../../domain/store.ts";
import { day, isoTime, isoTimeOrNull, minute, second, timeMs } from "../../domain/time.ts";
import { about, multiLine, nullable, oneOf, Timestamp } from "../../domain/validation/fields.ts";
import { dataOf, linksTo, listOf, noContent } from "../http/answers.ts";
import { existing, notFound } from "../http/errors.ts";
import {
  IsoTimestamp,
  named,
  optionalFields,
  otherFieldsIgnored,
  picked,
  TextParameter,
} from "../http/parameters.ts";
import { broadcasterIn, scopeOf } from "./deliveries.ts";
import type { PublicDeps, TokenListener } from "./listener.ts";

/*
 * Schemas of replays. The admin API has them with the id of the application.
 */

const time = (description: string) => Type.String({ ...Timestamp, description });

const word = (maxLength: number, description: string) =>
  Type.String({ ...multiLine(maxLength), minLength: 1, description });

const ReplayedStatus = oneOf(statusFilters, {
  description:
    "Only deliveries with this status. `missed`: all that was not delivered, that is, failed, expired or canceled, of a subscription that still exists. `failing`: attempted without success, and pending, failed or expired.",
});

/** Events published this long before the first failure may belong to it: the attempt that failed takes time. */
const marginMs = 5 * minute;

const fields = optionalFields({
  subscription_id: word(64, "Only deliveries of this subscription."),
  broadcaster_user_id: Type.Integer({
    minimum: 1,
    maximum: maxId,
    description: "Only events of this broadcaster.",
  }),
  status: ReplayedStatus,
  type: word(100, "Only events of this type."),
  from: time("Start of the range: events published at or after this time."),
  since: Type.Literal("last_failure", {
    description: `In place of \`from\`: ${marginMs / minute} minutes before the endpoint began to fail, the last time that it did, but at most ${replayLimits.maxRangeMs / day} days before the end.`,
  }),
  to: time(
    `End of the range, exclusive; at most ${replayLimits.maxRangeMs / day} days after its start. By default, now.`,
  ),
  dry_run: Type.Boolean({ description: "Counts the deliveries without sending them.", default: false }),
});

export const exampleReplayInput = {
  status: "missed",
  from: "2026-01-14T16:00:00Z",
  to: "2026-01-14T17:00:00Z",
};

export const ReplayInput = Type.Object(fields, {
  $id: "ReplayInput",
  description: "The deliveries to send again.",
  ...otherFieldsIgnored,
  examples: [exampleReplayInput],
});

const count = (description: string) => Type.Integer({ minimum: 0, description });

const shownFields = {
  id: Type.String({ description: "Id of the replay." }),
  state: oneOf(replayStates, { description: "State of the replay." }),
  dry_run: Type.Boolean({ description: "Whether the replay only counts deliveries." }),
  subscription_id: nullable(Type.String(), {
    description: "Only deliveries of this subscription; null for all.",
  }),
  broadcaster_user_id: nullable(Type.Integer(), {
    description: "Only deliveries of events of this broadcaster; null for all.",
  }),
  status: nullable(oneOf(statusFilters, {}), {
    description: "Only deliveries that had this status; null for all.",
  }),
  type: nullable(Type.String(), { description: "Only events of this type; null for all." }),
  from: about(IsoTimestamp, "Start of the range: events published at or after this time."),
  to: about(IsoTimestamp, "End of the range, exclusive."),
  progress: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "Part of the range that is processed, from 0 to 1.",
  }),
  matched: count("Deliveries found so far that match the filters."),
  queued: count("Deliveries queued to be sent again; with `dry_run`, those that would be."),
  skipped: named("SkippedDeliveries", "Deliveries that cannot be sent again, by reason.", {
    body_not_kept: count("The body of the event is no longer kept."),
    subscription_deleted: count("The subscription was deleted."),
    attempts_used_up: count("The delivery has had the maximum number of attempts."),
  }),
  created_at: about(IsoTimestamp, "Time at which the replay was created."),
  finished_at: nullable(IsoTimestamp, { description: "Time at which the replay ended; null while it runs." }),
};

export const ReplaySchema = named("Replay", "A job that sends a range of deliveries again.", shownFields);

export const ReplayId = Type.Object({
  id: TextParameter({
    maxLength: 64,
    description: "Id of the replay.",
    examples: ["01KEYN5Z9V5Z8N1F4T7Y0XW3CD"],
  }),
});

export const exampleReplay: Static<typeof ReplaySchema> = {
  id: "01KEYN5Z9V5Z8N1F4T7Y0XW3CD",
  state: "running",
  dry_run: false,
  subscription_id: null,
  broadcaster_user_id: null,
  status: "missed",
  type: null,
  from: "2026-01-14T16:00:00.000Z",
  to: "2026-01-14T17:00:00.000Z",
  progress: 0.412,
  matched: 318,
  queued: 316,
  skipped: { body_not_kept: 2, subscription_deleted: 0, attempts_used_up: 0 },
  created_at: "2026-01-14T17:20:41.000Z",
  finished_at: null,
};

export function shownReplay(replay: Replay): Static<typeof ReplaySchema> {
  return picked(shownFields, {
    ...replay,
    broadcaster_user_id: replay.of_broadcaster ?? replay.broadcaster_user_id,
    from: isoTime(replay.from),
    to: isoTime(replay.to),
    created_at: isoTime(replay.created_at),
    finished_at: isoTimeOrNull(replay.finished_at),
  });
}

/** Checks a request and returns its replay, limited to `scope`. Throws `invalid_parameter`. */
export async function newReplay(
  input: Static<typeof ReplayInput>,
  scope: Pick<NewReplay, "application_id" | "broadcaster_user_id">,
  store: Store,
  now: number,
): Promise<NewReplay> {
  const { subscription_id = null, broadcaster_user_id, status = null, type = null, dry_run = false } = input;
  const of_broadcaster = broadcasterIn(scope, broadcaster_user_id, "body");
  const to = input.to ? timeMs(input.to) : now;
  const range = { from: await startOf(input, { to, applicationId: scope.application_id, store }), to };
  checkRange(range);
  if (subscription_id !== null) {
    const found = await store.subscriptions.find(scope.application_id, subscription_id);
    const { broadcaster_user_id: user } = scope;
    if (!found || (user !== null && found.broadcaster_user_id !== user))
      throw invalidField("body", "subscription_id", "is not a subscription of the application");
  }
  return {
    id: newId(),
    ...scope,
    subscription_id,
    of_broadcaster,
    status,
    type,
    ...range,
    dry_run,
    created_at: now,
  };
}

/**
 * Returns the start of a range. Throws `invalid_parameter` if it is not given, `conflict` if the endpoint never failed.
 */
async function startOf(
  { from, since }: Pick<Static<typeof ReplayInput>, "from" | "since">,
  {
    to,
    applicationId,
    store,
  }: { readonly to: number; readonly applicationId: string; readonly store: Store },
): Promise<number> {
  if (from !== undefined && since !== undefined) throw invalidField("body", "since", "excludes from");
  if (from !== undefined) return timeMs(from);
  if (since === undefined) throw invalidField("body", "from", "is required, or since");
  const failedAt = (await store.endpoints.find(applicationId))?.last_failing_since ?? null;
  if (failedAt === null)
    throw new DomainError("conflict", "The endpoint has not failed, so there is nothing since then");
  return Math.max(failedAt - marginMs, to - replayLimits.maxRangeMs);
}

/** The longest time that the response to a dry run waits for the end of the replay. */
const longestWaitMs = second;
/** The time between two looks at a dry run. */
const lookMs = 20;

/** Creates a replay. Waits up to a second for a dry run, so that the response to a small run has its result. */
export async function startReplay(store: Store, replay: NewReplay): Promise<Replay> {
  let current = await store.replays.create(replay);
  const until = performance.now() + longestWaitMs;
  while (replay.dry_run && current.state === "running" && performance.now() < until) {
    await Bun.sleep(lookMs);
    const found = await store.replays.find(replay, replay.id);
    if (!found) break;
    current = found;
  }
  return current;
}

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

/** The documentation of Get Replay in both APIs. */
export const getReplayDetail = {
  operationId: "getReplay",
  tags: ["Deliveries"],
  description: "Returns one replay with its progress.",
};

/** The documentation of Cancel Replay in both APIs. */
export const cancelReplayDetail = {
  operationId: "cancelReplay",
  tags: ["Deliveries"],
  description:
    "Cancels a replay. No further deliveries are queued; those already queued are still sent. A replay that has ended is not changed.",
};

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
      detail: getReplayDetail,
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
      detail: cancelReplayDetail,
    },
  );
}
