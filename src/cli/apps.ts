import type { Static } from "@sinclair/typebox";
import type { ApplicationSchema } from "../api/admin/application-fields.ts";
import type { EndpointSchema } from "../api/admin/endpoints.ts";
import type { Statistics } from "../api/admin/statistics.ts";
import { deliveryModes, lockableFields } from "../domain/applications.ts";
import { scopes } from "../domain/tokens.ts";
import {
  command,
  type OptionValues,
  pagingHelp,
  pagingNames,
  pagingOptions,
  readNumber,
  readPaging,
  readSeconds,
  repeatable,
  switches,
  valued,
} from "./arguments.ts";
import { type AdminApi, type Fields, withAdminApi } from "./calls/admin-api.ts";
import { applicationId } from "./calls/names.ts";
import { readTarget, type Target, targetHelp, targetOptions } from "./calls/target.ts";
import { type ListPage, type Output, type Paging, pagesOf } from "./output/output.ts";
import { note } from "./output/print.ts";
import {
  filterHelp,
  filtersText,
  isEmpty,
  readFilters,
  readWebhookHeaders,
  webhookHeaderHelp,
  webhookHeadersText,
} from "./receiving.ts";

/** An application and an endpoint in the admin API's form. */
type ApplicationAnswer = Static<typeof ApplicationSchema>;
type EndpointAnswer = Static<typeof EndpointSchema>;

type StatisticsAnswer = Static<typeof Statistics>;

/** The reasons for a disabled endpoint, in words. */
const reasons = { gone: "it answered 410", failing: "all attempts failed for 24 hours" } as const;

type Listed = ApplicationAnswer & { readonly endpoint: Pick<EndpointAnswer, "status" | "disabled_reason"> };

/** Prints applications, each with the state of its endpoint. */
async function listApplications(api: AdminApi, paging: Paging, out: Output): Promise<void> {
  const get = (page: Fields) => api.get<ListPage<Listed>>("/admin/v1/applications", page);
  await out.list(pagesOf(paging, get), {
    columns: ["ID", "STATE", "ENDPOINT", "NAME", "WEBHOOK"],
    cells: (one) => {
      const state = one.disabled ? "disabled" : "enabled";
      return [one.id, state, endpointCell(one), one.name, one.webhook_url ?? "-"];
    },
    empty: "There are no applications.",
  });
}

/** Prints the applications with the most requests of the last hour. */
async function listByRequests(api: AdminApi, out: Output): Promise<void> {
  const { applications } = await api.get<Pick<StatisticsAnswer, "applications">>("/admin/v1/statistics");
  await out.table(
    { data: applications },
    {
      columns: ["ID", "REQUESTS", "RATE LIMITED", "NAME"],
      rows: applications.map(({ application_id, name, requests, rate_limited }) => [
        application_id,
        `${requests}`,
        `${rate_limited}`,
        name ?? "(deleted)",
      ]),
      empty: "No application has made a request in the last hour.",
    },
  );
}

function endpointCell({ webhook_url, delivery, endpoint }: Listed): string {
  if (delivery === "stream") return "stream only";
  if (webhook_url === null) return "no URL";
  const { status, disabled_reason } = endpoint;
  return disabled_reason === null ? status : `${status} (${disabled_reason})`;
}

/** Returns an answer for display, with the endpoint's state, the headers and the filters in one line each. */
function forPeople(answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { last_failure, endpoint, filters_set_at, ...others } = answer;
  const { webhook_headers: headers, filters } = others as Partial<ApplicationAnswer>;
  const setAt = filters_set_at as ApplicationAnswer["filters_set_at"] | undefined;
  const rest = {
    ...others,
    ...(headers && { webhook_headers: webhookHeadersText(headers) }),
    ...(filters && { filters: filtersText(filters, setAt) }),
  };
  if (endpoint !== undefined) return { ...rest, endpoint: sentenceOf(endpoint as EndpointAnswer) };
  if (last_failure === undefined) return rest;
  return { ...rest, last_failure: (last_failure as EndpointAnswer["last_failure"])?.error ?? null };
}

function sentenceOf({
  status,
  disabled_reason,
  disabled_at,
  failures,
  last_failure,
  next_attempt_at,
}: EndpointAnswer): string {
  if (status === "disabled") return `disabled since ${disabled_at}: ${reasons[disabled_reason ?? "failing"]}`;
  if (status === "enabled") return status;
  const next = next_attempt_at === null ? "" : ` The next attempt is at ${next_attempt_at}.`;
  const attempts = failures === 1 ? "1 attempt" : `${failures} attempts`;
  return `failing: ${attempts}. ${last_failure?.error ?? ""}${next}`;
}

const help = `Usage: onair apps <action> [options]

Manages the applications of third parties, at a running server or in a data directory that no server
uses. ID is the id of an application, or its name.

  list                          lists all applications, with the state of their endpoints
  show ID                       shows an application, with the state of its endpoint
  create --name NAME            creates an application; its secrets are shown only once
  change ID                     changes what the options name
  delete ID                     deletes an application with its tokens and subscriptions; pending
                                deliveries are canceled
  enable-endpoint ID            tries its webhook URL now while it fails, before the next attempt is
                                due; or sends to it again, after a 410 or a day of failures
  rotate-client-secret ID       makes a new client secret; the old one stays valid for the overlap
  rotate-webhook-secret ID      makes a new webhook secret; both sign during the overlap

Options of create and change:

  --name NAME                   its name
  --delivery MODE               how it gets its events: webhook (the default), stream, or both
  --webhook-url URL             the URL that its events are sent to; "" for none. Another origin
                                needs --webhook-header, if there are any: it gets only those
${webhookHeaderHelp(32)}
${filterHelp(32)}
  --scope SCOPE                 a scope that its tokens may have; may be repeated (default: all)
  --redirect-uri URI            where its users may be redirected after sign-in; may be repeated
  --public                      for create: it runs on users' devices and has no client secret
  --rate-limit N                requests per minute; 0 for no limit, "default" for the server's
  --subscription-limit N        maximum number of subscriptions; "default" for the server's
  --webhook-concurrency N       maximum number of concurrent deliveries; "default" for the
                                server's
  --lock FIELD                  a field that its developer may not change: webhook_url,
                                webhook_headers, filters, delivery, redirect_uris; may be
                                repeated; "" for none
  --owner USER                  the id of the user who owns it; "" for none
  --disable, --enable           for change: refuse its tokens and send it nothing, or undo this;
                                a disabled endpoint stays so until enable-endpoint

Other options:

  --by requests                 for list: the 20 applications with the most requests of the
                                last hour, and how many were beyond a rate limit
  --overlap DURATION            for rotations, like 90s, 30m, 1h or 2d (default: 1d)
${pagingHelp}
${targetHelp}
  --json         print the answer as JSON

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
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
  ...repeatable("scope", "redirect-uri", "lock", "webhook-header", "filter"),
};
const fieldNames = Object.keys(fields) as (keyof typeof fields)[];
const options = {
  ...targetOptions,
  ...pagingOptions,
  ...fields,
  ...switches("json", "public", "disable", "enable"),
  ...valued("overlap", "by"),
};
type Values = OptionValues<typeof options>;

const needs = "the id or name of the application";
const actions = {
  list: { options: [...pagingNames, "by"] },
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
  summary: "list, create, change and delete applications, rotate their secrets",
  help,
  options,
  choices: { by: ["requests"], delivery: deliveryModes, lock: lockableFields },
  actions,
  values: { scope: scopes },
  async run({ action, words: [idOrName = ""], values, env, out, mistakes, check }) {
    const target = readTarget(values, env, mistakes);
    const paging = readPaging(values, mistakes);
    const body = action.startsWith("rotate")
      ? { overlap_seconds: readSeconds("overlap", values.overlap, mistakes) }
      : fieldsOf(values, mistakes);
    if (action === "create" && values.name === undefined) mistakes.push("--name is missing");
    if (values.by !== undefined && pagingNames.some((name) => values[name] !== undefined))
      mistakes.push("--by shows one list: it excludes --limit, --cursor and --all");
    // The body is checked only without other mistakes, because an invalid option is missing from it as well.
    if (action === "change" && isEmpty(body) && mistakes.length === 0)
      mistakes.push("Nothing to change: give at least one option, such as --name");
    check();
    await withAdminApi(target, async (api) => {
      if (action === "list" && values.by) return listByRequests(api, out);
      if (action === "list") return listApplications(api, paging, out);
      const id = idOrName === "" ? "" : await applicationId(api, idOrName);
      const answer = await perform(api, action, id, body);
      if (action === "delete") await out.answer(answer, `${id} is deleted`);
      else await out.record(answer, forPeople(answer));
      if (action === "change" && values.enable) await noteEndpointState(api, id, target);
      const hasSecret = "client_secret" in answer || "webhook_secret" in answer;
      if (hasSecret && !out.json) note("Secrets are shown only once: store them now.");
    });
  },
});

/** Returns the fields of a new application or a change; JSON leaves out those that are undefined. */
function fieldsOf(values: Values, mistakes: string[]): Record<string, unknown> {
  const { disable = false, enable = false, "webhook-url": url } = values;
  if (disable && enable) mistakes.push("--disable and --enable exclude each other");
  return {
    name: values.name,
    delivery: values.delivery,
    webhook_url: url === "" ? null : url,
    scopes: values.scope,
    redirect_uris: values["redirect-uri"],
    client_type: values.public ? "public" : undefined,
    rate_limit: limitOf("rate-limit", values, mistakes),
    subscription_limit: limitOf("subscription-limit", values, mistakes),
    webhook_concurrency: limitOf("webhook-concurrency", values, mistakes),
    owner_user_id: values.owner === "" ? null : readNumber("owner", values.owner, mistakes),
    webhook_headers: readWebhookHeaders(values["webhook-header"], mistakes),
    filters: readFilters(values.filter, mistakes),
    locked: values.lock?.filter((field) => field !== ""),
    disabled: disable || enable ? disable : undefined,
  };
}

/** Reads the limit of an option; null for the server's default. */
function limitOf(
  name: "rate-limit" | "subscription-limit" | "webhook-concurrency",
  values: Values,
  mistakes: string[],
): number | null | undefined {
  return values[name] === "default" ? null : readNumber(name, values[name], mistakes);
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

/** Prints a note if the endpoint is still disabled, because enabling the application does not enable it. */
async function noteEndpointState(api: AdminApi, id: string, { option }: Target): Promise<void> {
  const path = `${collection}/${encodeURIComponent(id)}/endpoint`;
  const endpoint = await api.get<EndpointAnswer>(path);
  if (endpoint.status !== "disabled") return;
  note(
    `The application is enabled, but its endpoint is still disabled, because ${reasons[endpoint.disabled_reason ?? "failing"]}.\n` +
      `To send to it again: onair apps enable-endpoint ${id}${option}`,
  );
}
