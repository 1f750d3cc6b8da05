import type { Environment } from "../../config/read-config.ts";
import { deliveryStatuses } from "../../domain/deliveries.ts";
import { isoTime } from "../../domain/time.ts";
import { command, type Given, readSince, switches, valued } from "../arguments.ts";
import { withAdminApi } from "../client/admin-api.ts";
import { allDeliveries, type DeliveriesApi, ownDeliveries } from "../client/deliveries-api.ts";
import { Profiles } from "../client/profiles.ts";
import { publicOptions, readPublicTarget, usesPublicApi, withPublicApi } from "../client/public-api.ts";
import { namesData, readTarget, type Target, targetOptions } from "../client/target.ts";
import { failed, ok, UsageError } from "../command.ts";
import { eventNames } from "../completion/event-names.ts";
import { deliveryCells, deliveryColumns, printDelivery } from "../output/deliveries.ts";
import { type Paging, pagesOf, pagingHelp, pagingNames, pagingOptions, readPaging } from "../output/list.ts";
import type { Output } from "../output/output.ts";
import { followDeliveries } from "./follow-deliveries.ts";
import { replay, retry } from "./redelivery.ts";

const help = `Usage: onair deliveries list [filters] [--follow] [options]
       onair deliveries show <id>
       onair deliveries retry <id> [--wait]
       onair deliveries replay (--from TIME --to TIME | --since DURATION) [filters] [--wait]
       onair deliveries replay <replay id> [--wait | --cancel]
       onair deliveries release

Shows the deliveries of events, and sends them again.

  list           lists deliveries, newest first, with their last attempt
  show           shows a delivery: its attempts, and the last request
  retry          sends a delivery again now, with the same id
  replay         sends a range of deliveries again; with the id of a replay: shows its progress, or
                 cancels it
  release        for operators: lets a server send that holds all deliveries, because its data was
                 restored from a backup or it has --hold-deliveries. First make sure that no other
                 server of the same data runs

  --follow           for list: oldest first, then each new or changed delivery, until Ctrl-C; with
                     --json one line for each
  --subscription ID  of this subscription
  --event ID         for list: of the event with this id, for all its subscriptions
  --status STATUS    pending, delivered, failed, expired or canceled
  --type TYPE        of this event type, like channel.followed
  --after TIME, --before TIME
                     for list: of events published in this range, like 2026-01-14T16:00:00Z
  --from TIME, --to TIME
                     for replay: likewise
  --since DURATION   instead: of events published since then, like 90s, 30m, 1h or 2d ago
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

  --application ID   for operators: of this application; required for replay
  --url URL          the admin listener, or with a token the public listener (ONAIR_URL)
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

const filters = valued("application", "subscription", "status", "type", "since");
const options = {
  ...targetOptions,
  ...publicOptions,
  ...pagingOptions,
  ...filters,
  ...switches("json", "follow", "dry-run", "wait", "cancel"),
  ...valued("event", "after", "before", "from", "to"),
};
type Values = Given<typeof options>;

const filterNames = Object.keys(filters) as (keyof typeof filters)[];
const needs = "the id of the delivery";
const actions = {
  list: { options: [...filterNames, ...pagingNames, "event", "after", "before", "follow"] },
  show: { needs },
  retry: { needs, options: ["wait"] },
  replay: { most: 1, options: [...filterNames, "from", "to", "dry-run", "wait", "cancel"] },
  release: {},
} as const;
type Action = keyof typeof actions;

export const deliveries = command({
  summary: "show deliveries, and send them again",
  help,
  options,
  choices: { status: deliveryStatuses },
  actions,
  values: { type: eventNames },
  async run({ action, words: [id], values, env, out, mistakes, check }) {
    const isOwn = usesPublicApi(values, env);
    const after = readSince(values.since, mistakes);
    mistakes.push(...misuse(action, id, values, isOwn));
    const paging = readPaging(values, mistakes);
    const perform = async (api: DeliveriesApi, option: string): Promise<number> => {
      const again = { api, out, wait: values.wait ?? false, option };
      if (action === "list") await list(api, paging, { ...values, ...(after && { after }) }, out, !isOwn);
      else if (action === "show") await printDelivery(await api.show(id ?? ""), out);
      else if (action === "retry") return (await retry(id ?? "", again)) ? failed : ok;
      else return (await replay(await asked(api, id, values, after), again)) ? failed : ok;
      return ok;
    };
    if (isOwn && action === "release") mistakes.push("release is for operators: set ONAIR_ADMIN_KEY");
    if (isOwn) {
      const target = readPublicTarget(values, env, mistakes);
      check();
      return withPublicApi(target, (api) => perform(ownDeliveries(api), target.option));
    }
    const target = readTarget(values, env, mistakes);
    if (mistakes.some((one) => one.includes("ONAIR_ADMIN_KEY"))) mistakes.push(withoutKey(env));
    if ((values.wait || values.follow) && !target.server)
      mistakes.push(`--${values.wait ? "wait" : "follow"} needs a running server: name it with --url`);
    check();
    if (action === "release") return release(target, out);
    return withAdminApi(target, (api) => perform(allDeliveries(api), target.option)).catch((error) => {
      const isNameless = !namesData(values);
      throw error instanceof UsageError && isNameless
        ? new UsageError(`${error.message}\n${withoutKey(env)}`)
        : error;
    });
  },
});

/** Says how to see the deliveries of the caller's own application. */
function withoutKey(env: Environment): string {
  const [name] = new Profiles(env).names();
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
    const hasRange = since || (from && to);
    if (isOwn && !hasRange) mistakes.push("--from and --to, or --since, are needed");
    if (!isOwn && !(application && hasRange))
      mistakes.push("--application is needed, and --from and --to, or --since");
  }
  if (action === "replay" && id !== undefined && (application || from || to || since))
    mistakes.push("the id of a replay excludes --application, --from, --to and --since");
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
  return { application_id: application, subscription_id: subscription, status, type };
};

async function list(
  api: DeliveriesApi,
  paging: Paging,
  values: Values,
  out: Output,
  forOperator: boolean,
): Promise<void> {
  const { after, before, follow = false } = values;
  const query = { ...filtersOf(values), event_id: values.event, after, before };
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
function hintAt({ event = "", status }: Values): string {
  // After a failed attempt people ask for failed deliveries, but those that are attempted again are pending.
  if (status === "failed")
    return " A delivery that will be attempted again is pending: see --status pending.";
  return /^[a-z0-9_]+(\.[a-z0-9_]+)+$/.test(event)
    ? ` --event expects the id of an event; for an event type, use --type ${event}.`
    : "";
}

/** Returns the replay to start or to show. Cancels it when requested. */
async function asked(api: DeliveriesApi, id: string | undefined, values: Values, since: string | undefined) {
  const { from = since, "dry-run": dry_run = false, cancel } = values;
  const to = values.to ?? (since && isoTime(Date.now()));
  if (id === undefined) return { range: { ...filtersOf(values), from, to, dry_run } };
  if (cancel) await api.cancelReplay(id);
  return { id };
}
