import { deliveryModes, lockableFields } from "../domain/applications.ts";
import { scopes } from "../domain/tokens.ts";
import { command, type Given, readNumber, readSeconds, repeatable, switches, valued } from "./arguments.ts";
import { type AdminApi, withAdminApi } from "./client/admin-api.ts";
import { readTarget, type Target, targetHelp, targetOptions } from "./client/target.ts";
import {
  type ApplicationAnswer,
  type EndpointAnswer,
  forPeople,
  listApplications,
  reasons,
} from "./output/applications.ts";
import { pagingHelp, pagingNames, pagingOptions, readPaging } from "./output/list.ts";
import { note } from "./output/print.ts";

const help = `Usage: onair apps <action> [options]

The applications of third parties, at a running server or in a data directory that no server uses.

  list                          all of them, with the state of their endpoints
  show ID                       one of them, with the state of its endpoint
  create --name NAME            makes one; its secrets are shown only now
  change ID                     changes what the options name
  delete ID                     with its tokens and subscriptions; what is pending is canceled
  enable-endpoint ID            sends to its webhook URL again after a 410 or a day of failures
  rotate-client-secret ID       makes a new one; the old one stays good for the overlap
  rotate-webhook-secret ID      likewise; both sign meanwhile

  --name NAME                   for create and change, as are the next ones
  --delivery MODE               how it gets its events: webhook (the default), stream, or both
  --webhook-url URL             where its events are sent; "" for nowhere
  --scope SCOPE                 what its tokens may be for; may be repeated (default: everything)
  --redirect-uri URI            where its users may be sent back to; may be repeated
  --public                      for create: it runs on its users' devices, has no client secret
  --rate-limit N                requests a minute, 0 for no limit; "default" for the server's
  --subscription-limit N        subscriptions that it may have; "default" for the server's
  --webhook-concurrency N       deliveries to it at once, at most; "default" for the server's
  --lock FIELD                  what its developer may not change: webhook_url, delivery,
                                redirect_uris; may be repeated; "" for nothing
  --owner USER                  the id of the user to whom it belongs; "" for none
  --disable, --enable           for change: refuse its tokens and send it nothing, or no more so;
                                its endpoint is enabled by enable-endpoint
  --overlap DURATION            for rotations, like 90s, 30m, 1h or 2d (default: 1d)

${pagingHelp}
${targetHelp}
  --json         print the answer as JSON

Exit code: 0 when it is done, 1 when it failed, 2 for wrong usage.
`;

const fields = {
  ...valued(
    "name",
    "delivery",
    "webhook-url",
    "rate-limit",
    "subscription-limit",
    "webhook-concurrency",
    "owner",
  ),
  ...repeatable("scope", "redirect-uri", "lock"),
};
const fieldNames = Object.keys(fields) as (keyof typeof fields)[];
const options = {
  ...targetOptions,
  ...pagingOptions,
  ...fields,
  ...switches("json", "public", "disable", "enable"),
  ...valued("overlap"),
};
type Values = Given<typeof options>;

const needs = "the id of the application";
const actions = {
  list: { options: pagingNames },
  show: { needs },
  create: { options: [...fieldNames, "public"] },
  change: { needs, options: [...fieldNames, "disable", "enable"] },
  delete: { needs },
  "enable-endpoint": { needs },
  "rotate-client-secret": { needs, options: ["overlap"] },
  "rotate-webhook-secret": { needs, options: ["overlap"] },
} as const;
type Action = keyof typeof actions;

export const apps = command({
  summary: "list, make, change and delete applications, rotate their secrets",
  help,
  options,
  choices: { delivery: deliveryModes, lock: lockableFields },
  actions,
  // A former name.
  synonyms: { get: "show" },
  values: { scope: scopes },
  async run({ action, words: [id = ""], values, env, out, mistakes, check }) {
    const target = readTarget(values, env, mistakes);
    const paging = readPaging(values, mistakes);
    const body = action.startsWith("rotate") ? rotationOf(values, mistakes) : fieldsOf(values, mistakes);
    if (action === "create" && values.name === undefined) mistakes.push("--name is missing");
    // Not beside a mistake: what cannot be read is not in the body.
    if (action === "change" && Object.keys(body).length === 0 && mistakes.length === 0)
      mistakes.push("there is nothing to change");
    check();
    await withAdminApi(target, async (api) => {
      if (action === "list") return listApplications(api, paging, out);
      const answer = await perform(api, action, id, body);
      if (action === "delete") await out.answer(answer, `${id} is deleted`);
      else await out.record(answer, forPeople(answer));
      if (action === "change" && values.enable) await noteEndpointState(api, id, target);
      const hasSecret = "client_secret" in answer || "webhook_secret" in answer;
      if (hasSecret && !out.json) note("Secrets are shown only now.");
    });
  },
});

function fieldsOf(values: Values, mistakes: string[]): Record<string, unknown> {
  const { disable = false, enable = false, name, scope } = values;
  if (disable && enable) mistakes.push("--disable and --enable exclude each other");
  const rate = limitOf("rate-limit", values["rate-limit"], mistakes);
  const subscriptions = limitOf("subscription-limit", values["subscription-limit"], mistakes);
  const concurrency = limitOf("webhook-concurrency", values["webhook-concurrency"], mistakes);
  const owner = values.owner === "" ? null : readNumber("owner", values.owner, mistakes);
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
    ...(values.lock && { locked: values.lock.filter((field) => field !== "") }),
    ...(owner !== undefined && { owner_user_id: owner }),
    ...((disable || enable) && { disabled: disable }),
  };
}

function rotationOf({ overlap }: Values, mistakes: string[]): Record<string, unknown> {
  const seconds = readSeconds("overlap", overlap, mistakes);
  return seconds === undefined ? {} : { overlap_seconds: seconds };
}

/** The limit of an option; null for the server's default. */
function limitOf(name: string, text: string | undefined, mistakes: string[]): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === "default") return null;
  return readNumber(name, text, mistakes);
}

const collection = "/admin/v1/applications";

/** Runs an action on one application. */
async function perform(
  api: AdminApi,
  action: Exclude<Action, "list">,
  id: string,
  json: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const path = `${collection}/${encodeURIComponent(id)}`;
  switch (action) {
    case "show": {
      const [application, endpoint] = await Promise.all([
        api.get<ApplicationAnswer>(path),
        api.get<EndpointAnswer>(`${path}/endpoint`),
      ]);
      return { ...application, endpoint };
    }
    case "create":
      return api.json({ method: "POST", path: collection, json });
    case "change":
      return api.json({ method: "PATCH", path, json });
    case "delete":
      await api.send({ method: "DELETE", path });
      return { id, deleted: true };
    case "enable-endpoint":
      return api.json({ method: "POST", path: `${path}/endpoint/enable` });
    case "rotate-client-secret":
      return api.json({ method: "POST", path: `${path}/client-secret`, json });
    case "rotate-webhook-secret":
      return api.json({ method: "POST", path: `${path}/webhook-secret`, json });
  }
}

/** Notes the state of the endpoint, which enabling an application does not change. */
async function noteEndpointState(api: AdminApi, id: string, { option }: Target): Promise<void> {
  const path = `${collection}/${encodeURIComponent(id)}/endpoint`;
  const endpoint = await api.get<EndpointAnswer>(path);
  if (endpoint.status !== "disabled") return;
  note(
    `The application is enabled; its endpoint stays disabled, because ${reasons[endpoint.disabled_reason ?? "failing"]}.\n` +
      `onair apps enable-endpoint ${id}${option} sends to it again.`,
  );
}
