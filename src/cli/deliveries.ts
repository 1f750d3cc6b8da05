import type { Environment } from "../read-config.ts";
import { noMore, readArguments, readWord, refuseMisplaced } from "./arguments.ts";
import { type AdminApi, withAdminApi } from "./client/admin-api.ts";
import { readTarget, targetHelp, targetOptions } from "./client/target.ts";
import { type Command, failed, ok, UsageError } from "./command.ts";
import { type Delivery, deliveryCells, deliveryColumns, printDelivery } from "./output/deliveries.ts";
import {
  type ListPage,
  type Paging,
  pagesOf,
  pagingHelp,
  pagingOptions,
  printList,
  readPaging,
} from "./output/list.ts";
import { print } from "./output/print.ts";
import { replay, retry } from "./redelivery.ts";

const help = `Usage: onair deliveries list [filters] [options]
       onair deliveries show <id>
       onair deliveries retry <id> [--wait]
       onair deliveries replay --application ID --from TIME --to TIME [filters] [--dry-run] [--wait]
       onair deliveries replay <replay id> [--wait | --cancel]

Was it sent? What became of events, at a running server or in a data directory that no server
uses.

  list           deliveries, newest first, with their last attempt
  show           one delivery: its attempts, and the request as it was sent last
  retry          sends one again now, with the same id
  replay         sends a range again; with the id of a replay, shows how far it is, or ends it

  --application ID   of this application
  --subscription ID  of this subscription
  --status STATUS    pending, delivered, failed, expired or canceled
  --type TYPE        of this event type, like channel.followed
  --after TIME, --before TIME
                     for list: of events published in between, like 2026-01-14T16:00:00Z
  --from TIME, --to TIME
                     the same for replay
  --dry-run          for replay: only counts
  --wait             for retry: until it was attempted; for replay: until all of it is queued
  --cancel           for replay: ends it
${pagingHelp}
${targetHelp}
  --json             print the answer as JSON

In a data directory nothing is sent before its server starts. Exit code: 0 when it is done, 1 when
it failed (with --wait: when the retry is not delivered, or the replay was canceled), 2 for wrong
usage.
`;

const options = {
  ...targetOptions,
  ...pagingOptions,
  json: { type: "boolean" },
  application: { type: "string" },
  subscription: { type: "string" },
  status: { type: "string" },
  type: { type: "string" },
  after: { type: "string" },
  before: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  "dry-run": { type: "boolean" },
  wait: { type: "boolean" },
  cancel: { type: "boolean" },
} as const;

type Values = ReturnType<typeof readArguments<typeof options>>["values"];

const actions = ["list", "show", "retry", "replay"] as const;
type Action = (typeof actions)[number];

/** The options of each action, besides the common ones. */
const taken: Readonly<Record<Action, readonly string[]>> = {
  list: ["application", "subscription", "status", "type", "after", "before", "limit", "all", "cursor"],
  show: [],
  retry: ["wait"],
  replay: ["application", "subscription", "status", "type", "from", "to", "dry-run", "wait", "cancel"],
};

export const deliveries: Command = {
  summary: "show what was sent, and send it again",
  help,
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [word, id, ...more] = positionals;
    const mistakes: string[] = [];
    const target = readTarget(values, env, mistakes);
    const action = readWord("action", word, actions, mistakes);
    if (action) mistakes.push(...misuse(action, id, values));
    const { wait = false, json = false } = values;
    if (wait && !target.server)
      mistakes.push("--wait needs a running server, which sends: name it with --url");
    noMore(more, mistakes);
    const paging = readPaging(values, mistakes);
    if (mistakes.length > 0 || !action) throw new UsageError(mistakes.join("\n"));
    return withAdminApi(target, async (api) => {
      const again = { api, env, json, wait, option: target.option };
      if (action === "list") await list(api, paging, values, env);
      else if (action === "show") await show(api, id ?? "", values, env);
      else if (action === "retry") return (await retry(id ?? "", again)) ? failed : ok;
      else return (await replay(await asked(api, id, values), again)) ? failed : ok;
      return ok;
    });
  },
};

function misuse(action: Action, id: string | undefined, values: Values): string[] {
  const mistakes: string[] = [];
  refuseMisplaced(action, values, taken[action], mistakes);
  const { application, from, to, cancel, wait } = values;
  if (action === "list") noMore([id], mistakes);
  if ((action === "show" || action === "retry") && id === undefined)
    mistakes.push("the id of the delivery is missing");
  if (action === "replay" && id === undefined) {
    if (cancel) mistakes.push("--cancel needs the id of a replay");
    if (!application || !from || !to) mistakes.push("--application, --from and --to are needed");
  }
  if (action === "replay" && id !== undefined && (application || from || to))
    mistakes.push("the id of a replay and a range exclude each other");
  if (cancel && wait) mistakes.push("--cancel and --wait exclude each other");
  return mistakes;
}

const filtersOf = ({ application, subscription, status, type }: Values) => {
  return { application_id: application, subscription_id: subscription, status, type };
};

async function list(api: AdminApi, paging: Paging, values: Values, env: Environment): Promise<void> {
  const { after, before, json = false } = values;
  const filters = Object.entries({ ...filtersOf(values), after, before }).filter(([, value]) => value);
  const query = new URLSearchParams(filters as [string, string][]);
  const get = (page: string) =>
    api.json<ListPage<Delivery>>({ method: "GET", path: `/admin/v1/deliveries?${page}&${query}` });
  const empty = filters.length > 0 ? "There are no such deliveries." : "There are no deliveries.";
  await printList(pagesOf(paging, get), {
    json,
    env,
    columns: deliveryColumns,
    cells: deliveryCells,
    empty,
  });
}

async function show(api: AdminApi, id: string, { json }: Values, env: Environment): Promise<void> {
  const path = `/admin/v1/deliveries/${encodeURIComponent(id)}`;
  const delivery = await api.json<Delivery>({ method: "GET", path });
  if (json) return print(JSON.stringify(delivery));
  await printDelivery(delivery, env);
}

/** The replay to start or to show; cancels it when requested. */
async function asked(api: AdminApi, id: string | undefined, values: Values) {
  const { from, to, "dry-run": dry_run = false, cancel } = values;
  if (id === undefined) return { range: { ...filtersOf(values), from, to, dry_run } };
  if (cancel) await api.send({ method: "DELETE", path: `/admin/v1/replays/${encodeURIComponent(id)}` });
  return { id };
}
