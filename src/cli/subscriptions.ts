import type { AnswerOf, Client } from "../client/create-client.ts";
import { OnairError } from "../client/http.ts";
import { builtInEventNames } from "../domain/events/built-in.ts";
import { command, readNumber, switches, valued } from "./arguments.ts";
import { broadcasterId, knownTypes } from "./calls/names.ts";
import {
  publicHelp,
  publicOptions,
  readPublicTarget,
  refuseForUser,
  refuseUserToken,
  withPublicApi,
} from "./calls/public-api.ts";
import { failed, ok } from "./command.ts";
import type { Output } from "./output/output.ts";
import { countOf, note, print } from "./output/print.ts";

const help = `Usage: onair subscriptions list
       onair subscriptions show <id>
       onair subscriptions create <event type> … [--broadcaster USER] [--version N]
       onair subscriptions delete <id> …

Manages the event subscriptions of your application.

  list               lists all subscriptions
  show               shows a subscription: its state, its pending deliveries, and its last success
                     and failure
  create             subscribes to events of a channel; a subscription that exists is returned
  delete             deletes subscriptions; their pending deliveries are not sent any more

  --broadcaster USER for create: the channel's owner, by username or user id; not with a user's
                     profile, which subscribes to that user's channel
  --version N        for create (default: the newest of each type)
${publicHelp}
  --json             print the answer as JSON

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

const options = { ...publicOptions, ...switches("json"), ...valued("broadcaster", "version") };
const path = "/public/v1/events/subscriptions";
/** The maximum number of ids in one request. */
const mostDeleted = 50;

const needs = "the id of the subscription";

export const subscriptions = command({
  summary: "list, create and delete the event subscriptions of your application",
  help,
  options,
  actions: {
    list: {},
    show: { needs },
    create: {
      needs: "the event type",
      most: Number.POSITIVE_INFINITY,
      candidates: builtInEventNames,
      options: ["broadcaster", "version"],
    },
    delete: { needs, most: Number.POSITIVE_INFINITY },
  },
  async run({ action, words, values, env, out, mistakes, check }) {
    const version = readNumber("version", values.version, mistakes, 1);
    const target = readPublicTarget(values, env, mistakes);
    if (values.broadcaster !== undefined) refuseForUser(target, mistakes);
    check();
    return withPublicApi(target, async (api) => {
      if (values.broadcaster !== undefined) await refuseUserToken(api, target);
      if (action === "list") await list(api, out);
      else if (action === "show") await show(api, words[0] ?? "", out);
      else if (action === "create")
        return (await create(api, words, { broadcaster: values.broadcaster, number: version, out }))
          ? ok
          : failed;
      else return (await remove(api, words, out)) ? ok : failed;
      return ok;
    });
  },
});

async function list(api: Client, out: Output): Promise<void> {
  const { data } = await api.get(path);
  const names = out.json
    ? new Map<number | null, string>()
    : await usernames(
        api,
        data.flatMap((one) => one.broadcaster_user_id ?? []),
      );
  const rows = data.map(({ id, event, version, broadcaster_user_id: of, created_at }) => [
    id,
    names.has(of) ? `${names.get(of)} (${of})` : String(of ?? "-"),
    event,
    String(version),
    created_at,
  ]);
  const columns = ["ID", "BROADCASTER", "EVENT", "VERSION", "CREATED"];
  await out.table({ data }, { columns, rows, empty: "There are no subscriptions." });
}

/** The most users whose names are requested, and those in one request. */
const mostNamed = { inAll: 500, atOnce: 50 };

/** Returns the usernames of users by id; of none when the token may not read users. */
async function usernames(api: Client, ids: readonly number[]): Promise<Map<number | null, string>> {
  const names = new Map<number | null, string>();
  const wanted = [...new Set(ids)].slice(0, mostNamed.inAll);
  for (let i = 0; i < wanted.length; i += mostNamed.atOnce) {
    const query = { id: wanted.slice(i, i + mostNamed.atOnce) };
    const users = await api.get("/public/v1/users", { params: { query } }).catch((error) => {
      if (error instanceof OnairError && error.code === "insufficient_scope") return { data: [] };
      throw error;
    });
    for (const { id, username } of users.data) names.set(id, username);
  }
  return names;
}

async function show(api: Client, id: string, out: Output): Promise<void> {
  const { data } = await api.get(`${path}/{id}`, { params: { path: { id } } });
  const { last_failure, ...rest } = data;
  const failure = last_failure && `${last_failure.at}: ${last_failure.error ?? last_failure.status}`;
  await out.record(data, { ...rest, last_failure: failure });
}

type Item = AnswerOf<typeof path, "post">["data"][number];

/** Subscribes, and prints a line for each event type. Returns whether all subscriptions exist. */
async function create(
  api: Client,
  names: readonly string[],
  {
    broadcaster,
    number,
    out,
  }: {
    readonly broadcaster: string | undefined;
    readonly number: number | undefined;
    readonly out: Output;
  },
): Promise<boolean> {
  const events = await knownTypes(api, names, number);
  const id = broadcaster === undefined ? undefined : await broadcasterId(api, broadcaster);
  const body = { events, ...(id !== undefined && { broadcaster_user_id: id }) };
  const items = await subscribed(api, body);
  if (out.json) await print(JSON.stringify({ data: items }));
  for (const item of out.json ? [] : items) {
    if ("subscription_id" in item) await print(`${item.subscription_id}  ${item.name}`);
    else note(`${item.name}: ${item.error.replace("broadcaster_user_id", "--broadcaster")}`);
  }
  return items.every((item) => "subscription_id" in item);
}

/** Subscribes, and returns the result for each event type, even if all are refused. */
async function subscribed(
  api: Client,
  body: { readonly events: { name: string; version: number }[]; readonly broadcaster_user_id?: number },
): Promise<readonly Item[]> {
  try {
    return (await api.post(path, { body })).data;
  } catch (error) {
    if (!(error instanceof OnairError) || error.code !== "subscription_failed") throw error;
    return (error.details.body as { readonly data: readonly Item[] }).data;
  }
}

/**
 * Deletes the subscriptions that exist, and returns whether all of them existed. The API ignores unknown ids, so
 * mistyped ids are found by listing the subscriptions first.
 */
async function remove(api: Client, words: readonly string[], out: Output): Promise<boolean> {
  const named = [...new Set(words)];
  const known = new Set((await api.get(path)).data.map(({ id }) => id));
  const ids = named.filter((id) => known.has(id));
  for (const id of named) if (!known.has(id)) note(`There is no subscription ${id}`);
  for (let i = 0; i < ids.length; i += mostDeleted) {
    await api.delete(path, { params: { query: { id: ids.slice(i, i + mostDeleted) } } });
  }
  await out.answer({ deleted: ids }, `${countOf(ids.length, "subscription")} deleted`);
  return ids.length === named.length;
}
