import type { Environment } from "../config.ts";
import { withAdminApi } from "./admin-api.ts";
import { type Command, UsageError } from "./command.ts";
import { print, recordLines, table } from "./print.ts";
import { readArguments, readTarget, targetHelp, targetOptions } from "./target.ts";

const help = `Usage: onair tokens <action> <application> [options]

Access tokens of an application, at a running server or in a data directory that nobody serves.

  create         makes one; it is shown only now
  list           what they are for and when they expire; only their hashes are kept
  revoke         ends all of them at once

  --scope SCOPE  for create: may be repeated (default: all that the application may have)
  --expires-in SECONDS
                 for create (default: 60 days)
${targetHelp}
  --json         print the answer as JSON

Exit code: 0 when it is done, 1 when it failed, 2 for wrong usage.
`;

const options = {
  ...targetOptions,
  json: { type: "boolean" },
  scope: { type: "string", multiple: true },
  "expires-in": { type: "string" },
} as const;

const actions = { create: "POST", list: "GET", revoke: "DELETE" } as const;
type Action = keyof typeof actions;

export const tokens: Command = {
  summary: "make, list and revoke access tokens of an application",
  help,
  async run(args: readonly string[], env: Environment) {
    const { values, positionals } = readArguments(args, options);
    const [action, id, ...more] = positionals;
    const mistakes: string[] = [];
    const target = readTarget(values, env, mistakes);
    const { scope, "expires-in": expiresIn, json = false } = values;
    if (!isAction(action)) mistakes.push(`the action must be one of ${Object.keys(actions).join(", ")}`);
    if (id === undefined) mistakes.push("the id of the application is missing");
    if (more.length > 0) mistakes.push(`"${more[0]}" is not expected here`);
    if (action !== "create" && (scope || expiresIn !== undefined))
      mistakes.push("--scope and --expires-in are for create");
    if (expiresIn !== undefined && !/^[0-9]{1,15}$/.test(expiresIn))
      mistakes.push("--expires-in must be a number");
    if (mistakes.length > 0 || !isAction(action) || id === undefined)
      throw new UsageError(mistakes.join("\n"));
    const body = { ...(scope && { scopes: scope }), ...(expiresIn && { expires_in: Number(expiresIn) }) };
    const path = `/admin/v1/applications/${encodeURIComponent(id)}/tokens`;
    await withAdminApi(target, async (api) => {
      const answer = await api.send({
        method: actions[action],
        path,
        ...(action === "create" && { json: body }),
      });
      const text = await answer.text();
      return print(json ? text : shown(action, JSON.parse(text)));
    });
    return 0;
  },
};

function isAction(word: string | undefined): word is Action {
  return word !== undefined && Object.hasOwn(actions, word);
}

interface Listed {
  readonly data: readonly { user_id: number | null; scopes: readonly string[]; expires_at: string }[];
}

function shown(action: Action, answer: Record<string, unknown>): string {
  if (action === "create") return recordLines(answer);
  if (action === "revoke") return `${answer["revoked"]} revoked`;
  const { data } = answer as unknown as Listed;
  const rows = data.map(({ user_id, scopes, expires_at }) => [
    expires_at,
    String(user_id ?? "-"),
    scopes.join(" "),
  ]);
  return table([["EXPIRES", "USER", "SCOPES"], ...rows]);
}
