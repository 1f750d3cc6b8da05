import type { Terminal } from "../runtime/terminal.ts";
import { versionWithCommit } from "../runtime/version.ts";
import type { Config } from "../server/settings/config.ts";
import type { DevFacts, DevPlatform } from "./platform.ts";

/**
 * Returns the welcome text, which fits 80 by 24 characters. Each curl command is one line, so that it can be copied.
 * @param notes to show first, for example that a port was taken
 */
export function banner(
  { facts, isNew }: { readonly facts: DevFacts } & Pick<DevPlatform, "isNew">,
  { data, adminKey }: Pick<Config, "data" | "adminKey">,
  notes: readonly string[],
  { style }: Pick<Terminal, "style">,
): string {
  const { public_url, admin_url, receiver_url, webhook_url, sign_in_url, query, users, secrets } = facts;
  const isOwn = webhook_url === receiver_url;
  const heading = (text: string) => style("bold", text);
  const row = (name: string, value: string, remark = "") =>
    `  ${name.padEnd(14)} ${style("cyan", value)}${remark && ` ${style("dim", remark)}`}`;
  const authorization = `-H 'Authorization: Bearer ${secrets.access_token}'`;
  const found = isNew ? "new sample data" : "the data of the last run";
  return `${[
    heading(`On Air ${versionWithCommit} is running, with ${found} in ${data}`),
    ...notes.map((note) => style("yellow", `  ${note}`)),
    row("API", public_url, "(open it in a browser; documentation: /docs)"),
    row("admin API", admin_url, "(open it for the console)"),
    row("operator key", adminKey === null ? secrets.admin_key : "as set by ONAIR_ADMIN_KEY"),
    "",
    heading("Dev app, with the scopes users:read and events:subscribe"),
    row("client_id", secrets.client_id),
    row("client_secret", secrets.client_secret),
    row("access token", secrets.access_token),
    row("webhook URL", webhook_url ?? "none", isOwn ? "(prints what arrives)" : "(as it was set)"),
    row("webhook secret", secrets.webhook_secret),
    row("sign in", sign_in_url, "(a user's token, in the browser)"),
    "",
    heading("Try it in another terminal"),
    `curl '${public_url}/public/v1/users/${users[0]?.username}' ${authorization}`,
    `curl '${public_url}/public/v1/users/search?query=${query}' ${authorization}`,
    `curl '${public_url}/public/v1/categories?limit=3'`,
    "",
    heading(`Ctrl-C stops it. To start over, stop it and delete ${data}`),
  ].join("\n")}\n`;
}
