import { sleep } from "../client/http.ts";
import { statusFilters } from "../domain/deliveries.ts";
import { builtInEventNames } from "../domain/events/built-in.ts";
import { escaped, printable } from "../runtime/terminal.ts";
import type { Environment } from "../server/settings/read-config.ts";
import {
  command,
  type OptionValues,
  pagingHelp,
  pagingNames,
  pagingOptions,
  readForward,
  readPaging,
  readSince,
  switches,
  valued,
} from "./arguments.ts";
import { type AdminApi, type Fields, isServed, withAdminApi } from "./calls/admin-api.ts";
import { allDeliveries, type DeliveriesApi, type Delivery, ownDeliveries } from "./calls/deliveries.ts";
import { askingAgain, poll } from "./calls/http.ts";
import { forwardAgain, readSigningSecret } from "./calls/local-program.ts";
import { applicationId, didYouMeanType } from "./calls/names.ts";
import { Profiles } from "./calls/profiles.ts";
import { publicOptions, readPublicTarget, usesPublicApi, withPublicApi } from "./calls/public-api.ts";
import { NoDataError, namesData, readTarget, type Target, targetOptions } from "./calls/target.ts";
import { failed, ok, UsageError, untilEnded } from "./command.ts";
import { type Output, type Paging, pagesOf } from "./output/output.ts";
import { note, print, recordLines, type Screen, table, tableWriter } from "./output/print.ts";
import { type RedeliveryOptions, replay } from "./replays.ts";

type Attempt = Delivery["attempts"][number];
type Request = NonNullable<Delivery["request"]>;

/** The outcome comes first, because a narrow terminal cuts the last columns. */
const columns = ["ID", "STATUS", "LAST", "TYPE", "CHANNEL", "ATTEMPTS", "PUBLISHED"];

/** The columns of a list of deliveries; for operators with the application. */
function deliveryColumns({ forOperator }: { readonly forOperator: boolean }): string[] {
  return forOperator ? [...columns, "APPLICATION"] : columns;
}

function deliveryCells(delivery: Delivery): string[] {
  const { id, created_at, status, type, attempts, app_id, app_name, broadcaster_user_id } = delivery;
  const channel = delivery.broadcaster_username ?? String(broadcaster_user_id);
  const last = attempts.at(-1);
  const cells = [
    id,
    status,
    last ? lastOutcome(delivery.status, last) : "-",
    type,
    channel,
    String(attempts.length),
    created_at,
  ];
  return app_id === undefined ? cells : [...cells, app_name ?? app_id];
}

/** Prints a delivery with its attempts, and the last request when it is known. */
async function printDelivery(delivery: Delivery, out: Output): Promise<void> {
  const { attempts, request, ...rest } = delivery;
  const on = out.screen;
  const parts = [recordLines(rest, on), attemptTable(attempts, on)];
  const answered = attempts.at(-1)?.response_headers ?? {};
  if (Object.keys(answered).length > 0)
    parts.push(`Headers of the last response:\n${recordLines(answered, on)}`);
  if (request) parts.push(requestLines(request, attempts.length > 0, on));
  await out.answer(delivery, parts.filter((part) => part !== "").join("\n\n"));
}

function requestLines({ url, headers, body }: Request, wasSent: boolean, on: Screen): string {
  const heading = wasSent ? "The last request:" : "The request, which is not sent yet:";
  const lines = [heading, printable(`POST ${url ?? "(no webhook URL)"}`), recordLines(headers, on)];
  return `${lines.join("\n")}\n\n${escaped(body ?? "(the body is no longer kept)")}`;
}

function attemptTable(attempts: readonly Attempt[], on: Screen): string {
  if (attempts.length === 0) return "";
  // The URL of the last attempt is shown with the request.
  const isAtOneUrl = new Set(attempts.map(({ url }) => url)).size === 1;
  const rows = attempts.map((one) => [
    one.at,
    outcomeOf(one),
    `${one.duration_ms} ms`,
    one.error ?? "",
    one.response.slice(0, longestAnswer),
    ...(isAtOneUrl ? [] : [one.url ?? "-"]),
  ]);
  const columns = ["ATTEMPT", "OUTCOME", "TOOK", "ERROR", "ANSWER", ...(isAtOneUrl ? [] : ["URL"])];
  // Not cut to the terminal, so that errors stay complete.
  return table(columns, rows, { ...on, columns: null });
}

const longestAnswer = 80;

const outcomeOf = ({ status, outcome }: Attempt) => (status === null ? outcome : String(status));

/** The outcome of the last attempt for a list. A delivery that is sent again was answered before. */
function lastOutcome(status: Delivery["status"], last: Attempt): string {
  return last.outcome === "ok" && status !== "delivered"
    ? `sent before: ${outcomeOf(last)}`
    : outcomeOf(last);
}

/** Notes the outcome of the last attempt and the next step. */
function noteOutcome({ status, attempts, next_attempt_at }: Delivery): void {
  const last = attempts.at(-1);
  const why = last?.error ? `: ${last.error}` : "";
  if (status === "delivered") note("The delivery succeeded.");
  else if (status === "pending" && next_attempt_at)
    note(`The attempt failed${why} Next attempt: ${next_attempt_at}.`);
  else note(`The delivery is ${status}${why}`);
}

const everyMs = 1_000;
const pageSize = 100;
/** The most pages that a poll reads in search of changes. The next poll reads more. */
const mostPages = 10;

interface FollowedList {
  readonly query: Fields;
  /** The number of existing deliveries to show first. */
  readonly first: number;
  readonly forOperator: boolean;
  readonly out: Output;
}

/**
 * Prints deliveries, oldest first, then each new or changed one until Ctrl-C. Changes are seen only while a delivery is
 * among the newest hundred. Waits while the server cannot be reached.
 */
async function followDeliveries(api: DeliveriesApi, list: FollowedList): Promise<void> {
  const { query, first, forOperator, out } = list;
  const stop = untilEnded();
  const tabulated = tableWriter(deliveryColumns({ forOperator }), out.screen);
  const seen = new SeenStates();
  const start = await api.page({ ...query, limit: Math.min(first, pageSize) });
  let rows = seen.changes(start.data).changed;
  // Existing deliveries that are not shown count as seen.
  seen.changes((await api.page({ ...query, limit: pageSize })).data);
  const unlessAway = askingAgain();
  for (;;) {
    for (const one of out.json ? rows : []) await print(JSON.stringify(one));
    if (!out.json && rows.length > 0) await print(tabulated(rows.map(deliveryCells)));
    await sleep(everyMs, stop);
    if (stop.aborted) return;
    rows = (await unlessAway(() => changesSince(api, query, seen))) ?? [];
  }
}

/** Returns new and changed deliveries, oldest first. */
async function changesSince(api: DeliveriesApi, query: Fields, seen: SeenStates): Promise<Delivery[]> {
  const found: Delivery[] = [];
  let cursor = "";
  for (let pages = 0; pages < mostPages; pages++) {
    const page = await api.page({ ...query, limit: pageSize, ...(cursor && { cursor }) });
    const { changed, isAllNew } = seen.changes(page.data);
    found.unshift(...changed);
    ({ cursor } = page.pagination);
    if (!isAllNew || !page.pagination.has_more) break;
  }
  return found;
}

const mostRemembered = 5_000;

/** The last seen state of each delivery. */
class SeenStates {
  readonly #states = new Map<string, string>();

  /** Returns the new and changed deliveries of a page, oldest first, and remembers them. */
  changes(newestFirst: readonly Delivery[]): { readonly changed: Delivery[]; readonly isAllNew: boolean } {
    const changed: Delivery[] = [];
    let isAllNew = true;
    for (const delivery of newestFirst) {
      const { id, status, attempts } = delivery;
      const state = `${status} ${attempts.length}`;
      const known = this.#states.get(id);
      if (known !== undefined) isAllNew = false;
      if (known === state) continue;
      this.#states.delete(id);
      this.#states.set(id, state);
      changed.unshift(delivery);
    }
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= mostRemembered) break;
      this.#states.delete(oldest);
    }
    return { changed, isAllNew };
  }
}

/** Sends a delivery again. Returns whether it failed; false without `wait`. */
async function retry(id: string, { api, out, wait, option }: RedeliveryOptions): Promise<boolean> {
  let delivery = await api.retry(id);
  const before = delivery.attempts.length;
  const isPending = () => delivery.status === "pending" && delivery.attempts.length <= before;
  const unlessAway = askingAgain();
  if (wait) {
    if (before === 0)
      note("It has no attempt yet, so it keeps its place behind earlier ones. Ctrl-C ends only the waiting.");
    await poll(isPending, async () => {
      delivery = (await unlessAway(() => api.show(id))) ?? delivery;
    });
  }
  await printDelivery(delivery, out);
  if (wait) noteOutcome(delivery);
  else if (!out.json) note(`It is being sent again. To see the result: onair deliveries show ${id}${option}`);
  return wait && delivery.status !== "delivered";
}

const help = `Usage: onair deliveries list [filters] [--follow] [options]
       onair deliveries show <id> [--forward URL]
       onair deliveries retry <id> [--wait]
       onair deliveries replay (--from TIME [--to TIME] | --since DURATION) [filters] [--wait]
       onair deliveries replay <replay id> [--wait | --cancel]
       onair deliveries release

Shows the deliveries of events, and sends them again.

  list           lists deliveries, newest first, with their last attempt
  show           shows a delivery: its attempts, each with the URL that was called, the headers of
                 the last response, and the last request
  retry          sends a delivery again now, with the same id
  replay         sends the missed deliveries of a range again; with the id of a replay: shows its
                 progress, or cancels it
  release        for operators: lets a server send that holds all deliveries, because its data was
                 restored from a backup or it has --hold-deliveries. First make sure that no other
                 server of the same data runs

  --follow           for list: oldest first, then each new or changed delivery, until Ctrl-C; with
                     --json one line for each
  --subscription ID  of this subscription
  --event ID         for list: of the event with this id, for all its subscriptions
  --broadcaster USER of the channel of this user, by username or user id
  --status STATUS    pending, delivered, failed, expired or canceled; missed is each of the last
                     three, and the default for replay; failing is pending, failed or expired after
                     a failed attempt; any is each of all
  --type TYPE        of this event type, like channel.followed
  --after TIME, --before TIME
                     for list: of events published in this range, like 2026-01-14T16:00:00Z
  --from TIME, --to TIME
                     for replay: likewise
  --since DURATION   instead: of events published since then, like 90s, 30m, 1h or 2d ago; for
                     replay also last_failure: since the endpoint last began to fail
  --forward URL      for show: sends the delivery to a local program as a webhook, with the same id
                     and body and a new time and signature, and prints the answer
  --secret SECRET    for --forward: whsec_…, as for "onair listen" (ONAIR_WEBHOOK_SECRET)
  --dry-run          for replay: only count the deliveries
  --wait             for retry: wait for the attempt; for replay: wait until all are queued
  --cancel           for replay: cancel it
${pagingHelp}
  --json             print the answer as JSON

With an operator key (ONAIR_ADMIN_KEY), a data directory (--data, ONAIR_DATA) or a database
(--database, ONAIR_DATABASE), the command uses the admin API: the deliveries of all applications.
Otherwise, with ONAIR_TOKEN or a profile of "onair login", it uses the public API: the deliveries of
that application; --profile and --token always choose this. With none of these, it uses the data
directory onair-data.

  --application APPLICATION
                     for operators: of the application with this id or name; required for replay
  --url URL          the admin listener (ONAIR_ADMIN_URL), or with a token the public listener
                     (ONAIR_URL)
  --data DIR         for operators: a data directory that no server uses. Nothing is sent before
                     its server starts
  --database URL     for operators: the same for data in PostgreSQL (ONAIR_DATABASE)
  --config FILE      for operators: the data named by this settings file (ONAIR_CONFIG)
  --client-cert FILE, --client-key FILE
                     for operators: as for "onair apps"
  --profile NAME, --token TOKEN
                     as for "onair listen"

Exit code: 0 on success, 1 on failure (with --wait: if the retry was not delivered, or the replay
was canceled), 2 for wrong usage.
`;

/** The value of `--status` for deliveries of every status. */
const anyStatus = "any";
/** The value of `--since` for a replay from the time when the endpoint began to fail. */
const lastFailure = "last_failure";

const filters = valued("application", "subscription", "broadcaster", "status", "type", "since");
const options = {
  ...targetOptions,
  ...publicOptions,
  ...pagingOptions,
  ...filters,
  ...switches("json", "follow", "dry-run", "wait", "cancel"),
  ...valued("event", "after", "before", "from", "to", "forward", "secret"),
};
type Values = OptionValues<typeof options>;

const filterNames = Object.keys(filters) as (keyof typeof filters)[];
const needs = "the id of the delivery";
const actions = {
  list: { options: [...filterNames, ...pagingNames, "event", "after", "before", "follow"] },
  show: { needs, options: ["forward", "secret"] },
  retry: { needs, options: ["wait"] },
  replay: { most: 1, options: [...filterNames, "from", "to", "dry-run", "wait", "cancel"] },
  release: {},
} as const;
type Action = keyof typeof actions;

export const deliveries = command({
  summary: "show deliveries, and send them again",
  help,
  options,
  choices: { status: [...statusFilters, anyStatus] },
  actions,
  values: { type: builtInEventNames },
  async run({ action, words: [id], values, env, out, mistakes, check }) {
    const isOwn = usesPublicApi(values, env);
    const isSinceFailure = action === "replay" && values.since === lastFailure;
    const after = isSinceFailure ? undefined : readSince(values.since, mistakes);
    mistakes.push(...misuse(action, id, values, isOwn));
    const paging = readPaging(values, mistakes);
    const url = values.forward === undefined ? null : readForward(values.forward, mistakes);
    if (values.secret !== undefined && url === null) mistakes.push("--secret needs --forward");
    const ownSecret = url === null ? undefined : readSigningSecret(values.secret, env, mistakes);
    const perform = async (
      api: DeliveriesApi,
      { option, keptSecret = () => null }: Pick<Target, "option"> & { keptSecret?: () => string | null },
      wanted: Values,
    ): Promise<number> => {
      const { broadcaster } = wanted;
      const filters = broadcaster
        ? { ...wanted, broadcaster: String(await api.userId(broadcaster)) }
        : wanted;
      const again = { api, out, wait: values.wait ?? false, option };
      if (action === "list") await list(api, paging, { ...filters, ...(after && { after }) }, out, !isOwn);
      else if (action === "show") {
        const delivery = await api.show(id ?? "");
        if (url === null) await printDelivery(delivery, out);
        else return (await forwardAgain(delivery, { url, ownSecret, keptSecret, out })) ? ok : failed;
      } else if (action === "retry") return (await retry(id ?? "", again)) ? failed : ok;
      else return (await replay(await requested(api, id, filters, after), again)) ? failed : ok;
      return ok;
    };
    if (isOwn && action === "release") mistakes.push("release is for operators: set ONAIR_ADMIN_KEY");
    if (isOwn) {
      const target = readPublicTarget(values, env, mistakes);
      check();
      return withPublicApi(target, (api) => perform(ownDeliveries(api), target, values));
    }
    const target = readTarget(values, env, mistakes);
    if (mistakes.some((one) => one.includes("ONAIR_ADMIN_KEY"))) mistakes.push(withoutKey(env));
    if ((values.wait || values.follow) && !(await isServed(target)))
      mistakes.push(`--${values.wait ? "wait" : "follow"} needs a running server: name it with --url`);
    check();
    if (action === "release") return release(target, out);
    const asOperator = async (api: AdminApi) => {
      const { application } = values;
      const named = application === undefined ? {} : { application: await applicationId(api, application) };
      return perform(allDeliveries(api), target, { ...values, ...named });
    };
    return withAdminApi(target, asOperator).catch((error) => {
      const isOfDeveloper = error instanceof NoDataError && !namesData(values);
      throw isOfDeveloper ? new UsageError(`${error.message}\n${withoutKey(env)}`) : error;
    });
  },
});

/** Says how to see the deliveries of one's own application: by the profile in `ONAIR_PROFILE`, else the first. */
function withoutKey(env: Environment): string {
  const name = env["ONAIR_PROFILE"] || new Profiles(env).names()[0];
  if (name === undefined)
    return 'To see only those of your own application, no operator key is needed: sign in with "onair login --url URL"';
  return `To see only those of your own application, no operator key is needed: --profile ${name}`;
}

function misuse(action: Action, id: string | undefined, values: Values, isOwn: boolean): string[] {
  const mistakes: string[] = [];
  const { application, after, before, from, to, since, cancel, wait, follow, cursor, all } = values;
  if (isOwn && application)
    mistakes.push(
      "--application is for operators: with a profile or token, all deliveries are of that application",
    );
  if (since && (after || before || from || to))
    mistakes.push("--since excludes --after, --before, --from and --to");
  if (follow && (before || cursor || all))
    mistakes.push("--follow excludes --before, --cursor and --all, because it shows new deliveries");
  if (action === "replay" && id === undefined) {
    if (cancel) mistakes.push("--cancel needs the id of a replay");
    const hasRange = since || from;
    if (isOwn && !hasRange) mistakes.push("--from or --since is needed");
    if (!isOwn && !(application && hasRange)) mistakes.push("--application is needed, and --from or --since");
  }
  if (action === "replay" && id !== undefined && (application || from || to || since))
    mistakes.push("The id of a replay excludes --application, --from, --to and --since");
  if (cancel && wait) mistakes.push("--cancel and --wait exclude each other");
  return mistakes;
}

/** Releases held deliveries. */
async function release(target: Target, out: Output): Promise<number> {
  const path = "/admin/v1/deliveries/hold";
  await withAdminApi(target, async (api) => {
    const { held_since } = await api.get<{ held_since: string | null }>(path);
    if (held_since !== null) await api.send({ method: "DELETE", path });
    await out.answer(
      { held_since },
      held_since === null
        ? "No deliveries were held."
        : `The deliveries held since ${held_since} are now sent.`,
    );
  });
  return ok;
}

const filtersOf = ({ application, subscription, status, type }: Values) => {
  const isAny = status === anyStatus;
  return {
    application_id: application,
    subscription_id: subscription,
    status: isAny ? undefined : status,
    type,
  };
};

async function list(
  api: DeliveriesApi,
  paging: Paging,
  values: Values,
  out: Output,
  forOperator: boolean,
): Promise<void> {
  const { after, before, follow = false } = values;
  const { broadcaster, event: event_id } = values;
  const query = { ...filtersOf(values), broadcaster, event_id, after, before };
  if (follow) return followDeliveries(api, { query, first: paging.limit, forOperator, out });
  const isFiltered = Object.values(query).some((value) => value);
  await out.list(
    pagesOf(paging, (page) => api.page({ ...query, ...page })),
    {
      columns: deliveryColumns({ forOperator }),
      cells: deliveryCells,
      empty: `${isFiltered ? "There are no such deliveries." : "There are no deliveries."}${hintAt(values)}`,
    },
  );
}

/** Returns a hint for filters that often mean something else; "" for others. */
function hintAt({ event = "", status, type = "" }: Values): string {
  const meant = builtInEventNames.includes(type) ? "" : didYouMeanType(type, builtInEventNames);
  if (meant !== "") return meant;
  // Users expect a delivery with a failed attempt in this list, but one that is attempted again is pending.
  if (status === "failed")
    return " A delivery that will be attempted again is pending: see --status failing.";
  return /^[a-z0-9_]+(\.[a-z0-9_]+)+$/.test(event)
    ? ` --event expects the id of an event; for an event type, use --type ${event}.`
    : "";
}

/** Returns the replay to start or to show. Cancels it when requested. */
async function requested(
  api: DeliveriesApi,
  id: string | undefined,
  values: Values,
  since: string | undefined,
) {
  const { from = since, to, "dry-run": dry_run = false, cancel, broadcaster } = values;
  if (id === undefined) {
    const filters = filtersOf({ ...values, status: values.status ?? "missed" });
    const start = values.since === lastFailure ? { since: lastFailure } : { from };
    const broadcaster_user_id = broadcaster === undefined ? undefined : Number(broadcaster);
    return { range: { ...filters, broadcaster_user_id, ...start, to, dry_run } };
  }
  if (cancel) await api.cancelReplay(id);
  return { id };
}
