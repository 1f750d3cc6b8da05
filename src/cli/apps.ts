import type { Environment } from "../config.ts";
import { type AdminApi, withAdminApi } from "./admin-api.ts";
import { type Command, UsageError } from "./command.ts";
import { print, recordLines, table } from "./print.ts";
import { readArguments, readTarget, targetHelp, targetOptions } from "./target.ts";

const help = `Usage: onair apps <action> [options]

The applications of third parties, at a running server or in a data directory that nobody serves.

  list                          all of them
  get ID                        one of them
  create --name NAME            makes one; its secrets are shown only now
  change ID                     changes what the options name
  delete ID                     with its tokens and subscriptions; what is pending is canceled
  rotate-client-secret ID       makes a new one; the old one stays good for the overlap
  rotate-webhook-secret ID      likewise; both sign meanwhile

  --name NAME                   for create and change, as are the next ones
  --delivery MODE               how it gets its events: webhook (the default), stream, or both
  --webhook-url URL             where its events are sent; "" for nowhere
  --scope SCOPE                 what its tokens may be for; may be repeated (default: everything)
  --redirect-uri URI            where its users may be sent back to; may be repeated
  --public                      for create: it runs on its users' devices and has no client secret
  --rate-limit N                requests a minute, 0 for no limit; "default" for the server's
  --subscription-limit N        subscriptions that it may have; "default" for the server's
  --webhook-concurrency N       deliveries to it at once, at most; "default" for the server's
  --disable, --enable           for change: refuse its tokens and send it nothing, or no more so
  --overlap SECONDS             for rotations (default: 86400)

${targetHelp}
  --json         print the answer as JSON

Exit code: 0 when it is done, 1 when it failed, 2 for wrong usage.
`;

const options = {
  ...targetOptions,
  json: { type: "boolean" },
  name: { type: "string" },
  delivery: { type: "string" },
  "webhook-url": { type: "string" },
  scope: { type: "string", multiple: true },
  "redirect-uri": { type: "string", multiple: true },
  "rate-limit": { type: "string" },
  "subscription-limit": { type: "string" },
  "webhook-concurrency": { type: "string" },
  public: { type: "boolean" },
  disable: { type: "boolean" },
  enable: { type: "boolean" },
  overlap: { type: "string" },
} as const;
type Values = ReturnType<typeof readArguments<typeof options>>["values"];

const fieldOptions = [
  "name",
  "delivery",
  "webhook-url",
  "scope",
  "redirect-uri",
  "rate-limit",
  "subscription-limit",
  "webhook-concurrency",
] as const;

/** What an action takes beside its target. */
const actions = {
  list: [],
  get: [],
  create: [...fieldOptions, "public"],
  change: [...fieldOptions, "disable", "enable"],
  delete: [],
  "rotate-client-secret": ["overlap"],
  "rotate-webhook-secret": ["overlap"],
} as const satisfies Record<string, readonly (keyof Values)[]>;
type Action = keyof typeof actions;

export const apps: Command = {
  summary: "list, make, change and delete applications, rotate their secrets",
  help,
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [action, id, ...more] = positionals;
    const mistakes: string[] = [];
    const target = readTarget(values, env, mistakes);
    if (!isAction(action))
      throw new UsageError(`the action must be one of ${Object.keys(actions).join(", ")}`);
    const takesId = action !== "list" && action !== "create";
    const extra = takesId ? more[0] : (id ?? more[0]);
    if (takesId && id === undefined) mistakes.push("the id of the application is missing");
    if (extra !== undefined) mistakes.push(`"${extra}" is not expected here`);
    mistakes.push(...misplaced(action, values));
    const body = action.startsWith("rotate") ? rotationOf(values, mistakes) : fieldsOf(values, mistakes);
    if (action === "create" && values.name === undefined) mistakes.push("--name is missing");
    if (action === "change" && Object.keys(body).length === 0) mistakes.push("there is nothing to change");
    if (mistakes.length > 0) throw new UsageError(mistakes.join("\n"));
    const { json = false } = values;
    await withAdminApi(target, async (api) => {
      if (action === "list") return list(api, json);
      const answer = await perform(api, action, id ?? "", body);
      if (answer === null)
        return json ? print(JSON.stringify({ id, deleted: true })) : print(`${id} is deleted`);
      return print(json ? JSON.stringify(answer) : recordLines(answer));
    });
    return 0;
  },
};

function isAction(word: string | undefined): word is Action {
  return word !== undefined && Object.hasOwn(actions, word);
}

function misplaced(action: Action, values: Values): string[] {
  const known: readonly string[] = ["url", "data", "json", ...actions[action]];
  return Object.keys(values)
    .filter((name) => !known.includes(name))
    .map((name) => `--${name} is not for ${action}`);
}

function fieldsOf(values: Values, mistakes: string[]): Record<string, unknown> {
  const { disable = false, enable = false, name, scope } = values;
  if (disable && enable) mistakes.push("--disable and --enable exclude each other");
  const rate = limitOf("rate-limit", values["rate-limit"], mistakes);
  const subscriptions = limitOf("subscription-limit", values["subscription-limit"], mistakes);
  const concurrency = limitOf("webhook-concurrency", values["webhook-concurrency"], mistakes);
  const uris = values["redirect-uri"];
  const url = values["webhook-url"];
  return {
    ...(name !== undefined && { name }),
    ...(values.delivery !== undefined && { delivery: values.delivery }),
    ...(url !== undefined && { webhook_url: url || null }),
    ...(scope && { scopes: scope }),
    ...(uris && { redirect_uris: uris }),
    ...(values.public && { client_type: "public" }),
    ...(rate !== undefined && { rate_limit: rate }),
    ...(subscriptions !== undefined && { subscription_limit: subscriptions }),
    ...(concurrency !== undefined && { webhook_concurrency: concurrency }),
    ...((disable || enable) && { disabled: disable }),
  };
}

function rotationOf({ overlap }: Values, mistakes: string[]): Record<string, unknown> {
  const seconds = overlap === undefined ? undefined : limitOf("overlap", overlap, mistakes);
  return seconds === undefined || seconds === null ? {} : { overlap_seconds: seconds };
}

/** The number of an option; null for the server's default. */
function limitOf(name: string, text: string | undefined, mistakes: string[]): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === "default") return null;
  if (!/^[0-9]{1,15}$/.test(text)) mistakes.push(`--${name} must be a number`);
  return Number(text);
}

/** Does one thing to one application; null: it is gone. */
async function perform(
  api: AdminApi,
  action: Exclude<Action, "list">,
  id: string,
  json: Record<string, unknown>,
): Promise<Record<string, unknown> | null> {
  const collection = "/admin/v1/applications";
  const path = `${collection}/${encodeURIComponent(id)}`;
  const answers: Readonly<Record<Exclude<Action, "list">, () => Promise<Response>>> = {
    get: () => api.send({ method: "GET", path }),
    create: () => api.send({ method: "POST", path: collection, json }),
    change: () => api.send({ method: "PATCH", path, json }),
    delete: () => api.send({ method: "DELETE", path }),
    "rotate-client-secret": () => api.send({ method: "POST", path: `${path}/client-secret`, json }),
    "rotate-webhook-secret": () => api.send({ method: "POST", path: `${path}/webhook-secret`, json }),
  };
  const answer = await answers[action]();
  return answer.status === 204 ? null : ((await answer.json()) as Record<string, unknown>);
}

interface Page {
  readonly data: readonly { id: string; name: string; webhook_url: string | null; disabled: boolean }[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

async function list(api: AdminApi, json: boolean): Promise<void> {
  const all: Page["data"][number][] = [];
  let cursor = "";
  do {
    const path = `/admin/v1/applications?limit=100&cursor=${cursor}`;
    const { data, pagination } = (await (await api.send({ method: "GET", path })).json()) as Page;
    all.push(...data);
    cursor = pagination.cursor;
  } while (cursor !== "");
  if (json) return print(JSON.stringify(all));
  const rows = all.map(({ id, name, webhook_url, disabled }) => {
    return [id, disabled ? "disabled" : "enabled", name, webhook_url ?? "-"];
  });
  return print(table([["ID", "STATE", "NAME", "WEBHOOK"], ...rows]));
}
