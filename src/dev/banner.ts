import { version } from "../version.ts";
import type { Terminal } from "./terminal.ts";

/** The facts that a developer needs to use a running platform. */
export interface Welcome {
  readonly data: string;
  readonly isNew: boolean;
  readonly publicUrl: string;
  readonly adminUrl: string;
  readonly receiverUrl: string;
  /** The URL where a browser signs in to the application as a sample user. */
  readonly signInUrl: string;
  /** null when the operator has set the key. */
  readonly adminKey: string | null;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly accessToken: string;
  readonly webhookSecret: string;
  /** A username and search terms for the examples. */
  readonly username: string;
  readonly query: string;
  /** Notes to show first, for example that a port was taken. */
  readonly notes: readonly string[];
}

/** The welcome text, which fits 80 by 24 characters. Each curl command is one line, to be copied whole. */
export function banner(welcome: Welcome, { style }: Pick<Terminal, "style">): string {
  const { data, isNew, publicUrl, adminUrl, receiverUrl, signInUrl, notes } = welcome;
  const heading = (text: string) => style("bold", text);
  const row = (name: string, value: string, remark = "") =>
    `  ${name.padEnd(14)} ${style("cyan", value)}${remark && ` ${style("dim", remark)}`}`;
  const authorization = `-H 'Authorization: Bearer ${welcome.accessToken}'`;
  const found = isNew ? "new sample data" : "the data of last time";
  return `${[
    heading(`On Air ${version} is running, with ${found} in ${data}`),
    ...notes.map((note) => style("yellow", `  ${note}`)),
    row("API", publicUrl, "(open it in a browser; documentation: /docs)"),
    row("admin API", adminUrl, "(open it for the console)"),
    row("operator key", welcome.adminKey ?? "as set by ONAIR_ADMIN_KEY"),
    "",
    heading("Dev app, with the scopes users:read and events:subscribe"),
    row("client_id", welcome.clientId),
    row("client_secret", welcome.clientSecret),
    row("access token", welcome.accessToken),
    row("webhook URL", receiverUrl, "(prints what arrives)"),
    row("webhook secret", welcome.webhookSecret),
    row("sign in", signInUrl, "(a user's token, in the browser)"),
    "",
    heading("Try it in another terminal"),
    `curl '${publicUrl}/public/v1/users/${welcome.username}' ${authorization}`,
    `curl '${publicUrl}/public/v1/users/search?query=${welcome.query}' ${authorization}`,
    `curl '${publicUrl}/public/v1/categories?limit=3'`,
    "",
    heading(`Ctrl-C stops it. To begin anew, stop it and delete ${data}`),
  ].join("\n")}\n`;
}
