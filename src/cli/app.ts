import type { AnswerOf, Client } from "../client/create-client.ts";
import { deliveryModes } from "../domain/applications.ts";
import { command, type OptionValues, readSeconds, repeatable, switches, valued } from "./arguments.ts";
import { publicHelp, publicOptions, readPublicTarget, withPublicApi } from "./calls/public-api.ts";
import type { Output } from "./output/output.ts";
import { counted, note, recordLines, table } from "./output/print.ts";
import {
  filterHelp,
  filtersText,
  isEmpty,
  readFilters,
  readWebhookHeaders,
  webhookHeaderHelp,
  webhookHeadersText,
} from "./receiving.ts";

const help = `Usage: onair app show
       onair app change [--webhook-url URL] [--webhook-header HEADER …] [--filter TYPE=CONDITION …]
                        [--delivery MODE] [--redirect-uri URI …]
       onair app rotate-webhook-secret [--overlap DURATION]
       onair app enable-endpoint

Manages your application. It needs the client id and secret of the application; a user's token is
refused.

  show                   shows its settings, its limits with what is left, and its endpoint's state
  change                 changes what the options name, unless the platform has locked it
  rotate-webhook-secret  makes a new secret, shown only once; both secrets sign during the overlap
  enable-endpoint        tries the webhook URL now while it fails, in place of waiting for the next
                         attempt; or sends to it again, after a 410 or a day of failures

  --webhook-url URL      the URL that its events are sent to; "" for none. Another origin needs
                         --webhook-header, if there are any: it gets only those
${webhookHeaderHelp(25)}
${filterHelp(25)}
  --delivery MODE        how it gets its events: webhook, stream, or both
  --redirect-uri URI     where its users may be redirected after sign-in; may be repeated
  --overlap DURATION     how long the old secret stays valid, like 90s, 30m, 1h or 2d (default: 1d)
${publicHelp}
  --json                 print the answer as JSON

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

const options = {
  ...publicOptions,
  ...switches("json"),
  ...valued("webhook-url", "delivery", "overlap"),
  ...repeatable("redirect-uri", "webhook-header", "filter"),
};
type Values = OptionValues<typeof options>;

const path = "/public/v1/application";
type OwnApplication = AnswerOf<typeof path, "get">["data"];

export const app = command({
  summary: "show and change your application, rotate its secret, enable its endpoint",
  help,
  options,
  choices: { delivery: deliveryModes },
  actions: {
    show: {},
    change: { options: ["webhook-url", "webhook-header", "filter", "delivery", "redirect-uri"] },
    "rotate-webhook-secret": { options: ["overlap"] },
    "enable-endpoint": {},
  },
  async run({ action, values, env, out, mistakes, check }) {
    const overlap = readSeconds("overlap", values.overlap, mistakes);
    const changes = changesOf(values, mistakes);
    if (action === "change" && isEmpty(changes) && mistakes.length === 0)
      mistakes.push("Nothing to change: give at least one option, such as --webhook-url");
    const target = readPublicTarget(values, env, mistakes);
    check();
    await withPublicApi(target, async (api) => {
      if (action === "rotate-webhook-secret") return rotate(api, overlap, out);
      const { data } = await requested(api, action, changes);
      await show(data, out);
    });
  },
});

/** Returns the changes; JSON leaves out the fields that are undefined. */
function changesOf(values: Values, mistakes: string[]): Record<string, unknown> {
  const url = values["webhook-url"];
  return {
    webhook_url: url === "" ? null : url,
    webhook_headers: readWebhookHeaders(values["webhook-header"], mistakes),
    filters: readFilters(values.filter, mistakes),
    delivery: values.delivery,
    redirect_uris: values["redirect-uri"]?.filter((uri) => uri !== ""),
  };
}

function requested(
  api: Client,
  action: "show" | "change" | "enable-endpoint",
  body: Record<string, unknown>,
): Promise<{ readonly data: OwnApplication }> {
  if (action === "show") return api.get(path);
  return action === "change" ? api.patch(path, { body }) : api.post(`${path}/endpoint/enable`);
}

async function rotate(api: Client, overlap: number | undefined, out: Output): Promise<void> {
  const body = overlap === undefined ? {} : { overlap_seconds: overlap };
  const { data } = await api.post(`${path}/webhook-secret`, { body });
  await out.record(data);
  if (!out.json) note("The secret is shown only once: store it now.");
}

function nextAttemptText({ status, next_attempt_at }: OwnApplication["endpoint"]): string {
  const tryNow = status === "failing" ? "; to try it now: onair app enable-endpoint" : "";
  return `${next_attempt_at}${tryNow}`;
}

async function show(application: OwnApplication, out: Output): Promise<void> {
  const { endpoint, secrets, notices, rate_limit, subscriptions, filters_set_at, ...rest } = application;
  const { limit, remaining } = rate_limit;
  const on = out.screen;
  const record = {
    ...rest,
    webhook_headers: webhookHeadersText(application.webhook_headers),
    filters: filtersText(application.filters, filters_set_at),
    rate_limit:
      remaining === null
        ? "unlimited"
        : `${counted(remaining)} of ${counted(limit)} requests per minute left`,
    subscriptions: `${counted(subscriptions.used)} of ${counted(subscriptions.limit)}`,
    endpoint: `${endpoint.status}: ${endpoint.summary}`,
    ...(endpoint.next_attempt_at !== null && { next_attempt: nextAttemptText(endpoint) }),
    ...(endpoint.advice !== null && { advice: endpoint.advice }),
  };
  const rows = secrets.map(({ kind, prefix, created_at, expires_at }) => [
    kind,
    prefix === null ? "-" : `${prefix}…`,
    created_at ?? "-",
    expires_at ?? "-",
  ]);
  const parts = [recordLines(record, on), table(["SECRET", "PREFIX", "CREATED", "EXPIRES"], rows, on)];
  if (notices.length > 0) {
    const rows = notices.map(({ created_at, type, data }) => [created_at, type, data.summary]);
    // This table is not cut to the terminal, so that sentences stay complete.
    parts.push(table(["NOTICED", "WHAT", "SUMMARY"], rows, { ...on, columns: null }));
  }
  await out.answer(application, parts.join("\n\n"));
}
