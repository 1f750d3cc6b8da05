import type { Environment } from "../config.ts";
import { type AdminApi, withAdminApi } from "./admin-api.ts";
import { type Command, UsageError } from "./command.ts";
import { print, recordLines, table } from "./print.ts";
import { readArguments, readTarget, targetHelp, targetOptions } from "./target.ts";

const help = `Usage: onair deliveries list [filters] [options]
       onair deliveries show <id>
       onair deliveries retry <id>
       onair deliveries replay --application ID --from TIME --to TIME [filters] [--dry-run]
       onair deliveries replay <replay id> [--cancel]

Was it sent? What became of events, at a running server or in a data directory that nobody serves.

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
  --limit N          for list: how many (default: 25)
  --dry-run          for replay: only counts
  --cancel           for replay: ends it
${targetHelp}
  --json             print the answer as JSON

In a data directory nothing is sent before its server starts. Exit code: 0 when it is done, 1 when it failed, 2 for
wrong usage.
`;

const options = {
  ...targetOptions,
  json: { type: "boolean" },
  application: { type: "string" },
  subscription: { type: "string" },
  status: { type: "string" },
  type: { type: "string" },
  after: { type: "string" },
  before: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  limit: { type: "string" },
  "dry-run": { type: "boolean" },
  cancel: { type: "boolean" },
} as const;

type Values = Partial<Record<keyof typeof options, string | boolean>>;

const actions = ["list", "show", "retry", "replay"] as const;
type Action = (typeof actions)[number];

/** Which of the options an action takes, beside those of all. */
const taken: Readonly<Record<Action, readonly string[]>> = {
  list: ["application", "subscription", "status", "type", "after", "before", "limit"],
  show: [],
  retry: [],
  replay: ["application", "subscription", "status", "type", "from", "to", "dry-run", "cancel"],
};
const always = ["url", "data", "json"];

export const deliveries: Command = {
  summary: "show what was sent, and send it again",
  help,
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [word, id, ...more] = positionals;
    const action = actions.find((one) => one === word);
    const mistakes: string[] = [];
    const target = readTarget(values, env, mistakes);
    if (!action) mistakes.push(`the action must be one of ${actions.join(", ")}`);
    else mistakes.push(...misuse(action, id, values));
    if (more.length > 0) mistakes.push(`"${more[0]}" is not expected here`);
    if (mistakes.length > 0 || !action) throw new UsageError(mistakes.join("\n"));
    await withAdminApi(target, async (api) => {
      const answer = await ask(api, action, id, values);
      if (values.json) return print(JSON.stringify(answer));
      return print(shown(action, answer));
    });
    return 0;
  },
};

function misuse(action: Action, id: string | undefined, values: Values): string[] {
  const mistakes = Object.keys(values)
    .filter((name) => ![...always, ...taken[action]].includes(name))
    .map((name) => `--${name} is not for ${action}`);
  const { application, from, to, cancel } = values;
  if (action === "list" && id !== undefined) mistakes.push(`"${id}" is not expected here`);
  if ((action === "show" || action === "retry") && id === undefined)
    mistakes.push("the id of the delivery is missing");
  if (action === "replay" && id === undefined) {
    if (cancel) mistakes.push("--cancel needs the id of a replay");
    if (!application || !from || !to) mistakes.push("--application, --from and --to are needed");
  }
  if (action === "replay" && id !== undefined && (application || from || to))
    mistakes.push("the id of a replay and a range exclude each other");
  return mistakes;
}

type Answer = Record<string, unknown>;

async function ask(api: AdminApi, action: Action, id: string | undefined, values: Values): Promise<Answer> {
  const { application, subscription, status, type, after, before, from, to, limit } = values;
  const common = { application_id: application, subscription_id: subscription, status, type };
  const one = `/admin/v1/deliveries/${encodeURIComponent(id ?? "")}`;
  const replay = `/admin/v1/replays/${encodeURIComponent(id ?? "")}`;
  const json = async (method: "GET" | "POST", path: string, body?: unknown) =>
    (await api.send({ method, path, ...(body !== undefined && { json: body }) })).json() as Promise<Answer>;
  if (action === "list") {
    const filters = Object.entries({ ...common, after, before, limit }).filter(([, value]) => value);
    const query = new URLSearchParams(filters as [string, string][]);
    return json("GET", `/admin/v1/deliveries?${query}`);
  }
  if (action === "show") return json("GET", one);
  if (action === "retry") return json("POST", `${one}/retry`);
  if (id === undefined)
    return json("POST", "/admin/v1/replays", { ...common, from, to, dry_run: values["dry-run"] ?? false });
  if (values.cancel) await api.send({ method: "DELETE", path: replay });
  return json("GET", replay);
}

interface Shown {
  readonly id: string;
  readonly app_id: string;
  readonly created_at: string;
  readonly status: string;
  readonly type: string;
  readonly attempts: readonly ShownAttempt[];
  readonly request?: { readonly headers: Answer; readonly body: string | null } | null;
}
interface ShownAttempt {
  readonly at: string;
  readonly status: number | null;
  readonly outcome: string;
  readonly duration_ms: number;
  readonly error: string | null;
  readonly response: string;
}

function shown(action: Action, answer: Answer): string {
  if (action === "list") return listed(answer["data"] as readonly Shown[]);
  if (action === "replay") {
    const { skipped, ...replay } = answer;
    return recordLines({ ...replay, ...(skipped as Answer) });
  }
  const { attempts, request, ...delivery } = answer as unknown as Shown;
  const parts = [recordLines(delivery), attemptTable(attempts)];
  if (request) parts.push(recordLines(request.headers), request.body ?? "(the body is no longer kept)");
  return parts.filter((part) => part !== "").join("\n\n");
}

function listed(found: readonly Shown[]): string {
  const rows = found.map(({ created_at, status, type, attempts, app_id, id }) => {
    const last = attempts.at(-1);
    return [created_at, status, type, String(attempts.length), last ? outcomeOf(last) : "-", app_id, id];
  });
  return table([["PUBLISHED", "STATUS", "TYPE", "ATTEMPTS", "LAST", "APPLICATION", "ID"], ...rows]);
}

function attemptTable(attempts: readonly ShownAttempt[]): string {
  if (attempts.length === 0) return "";
  const rows = attempts.map((one) => [
    one.at,
    outcomeOf(one),
    `${one.duration_ms} ms`,
    one.error ?? "",
    oneLine(one.response),
  ]);
  return table([["ATTEMPT", "OUTCOME", "TOOK", "ERROR", "ANSWER"], ...rows]);
}

const outcomeOf = ({ status, outcome }: ShownAttempt) => (status === null ? outcome : String(status));

/** What a receiver answered must not be able to move the cursor of a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const oneLine = (text: string) => text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").slice(0, 80);
