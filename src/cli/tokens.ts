import type { Static } from "@sinclair/typebox";
import type { Tokens } from "../api/admin/tokens.ts";
import { scopes } from "../domain/tokens.ts";
import { command, readSeconds, repeatable, switches, valued } from "./arguments.ts";
import { withAdminApi } from "./calls/admin-api.ts";
import { applicationId } from "./calls/names.ts";
import { readTarget, targetHelp, targetOptions } from "./calls/target.ts";
import type { Output } from "./output/output.ts";
import { countOf, note } from "./output/print.ts";

const help = `Usage: onair tokens <action> <application> [options]

Manages the access tokens of an application, which its id or name stands for, at a running server or
in a data directory that no server uses. Only hashes of the tokens are stored.

  create         makes a token; it is shown only once
  list           lists the tokens with their ids, scopes, last use and expiry
  revoke [ID]    revokes all tokens at once, or the one with this id; that of a user with all tokens
                 of the same sign-in

  --scope SCOPE  for create: a scope of the token; may be repeated (default: all of the application)
  --expires-in DURATION
                 for create, like 30m, 1h or 2d (default: 60d)
${targetHelp}
  --json         print the answer as JSON

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

const methods = { create: "POST", list: "GET", revoke: "DELETE" } as const;
const needs = "the id or name of the application";

export const tokens = command({
  summary: "create, list and revoke access tokens of an application",
  help,
  options: { ...targetOptions, ...switches("json"), ...repeatable("scope"), ...valued("expires-in") },
  actions: {
    create: { needs, options: ["scope", "expires-in"] },
    list: { needs },
    revoke: { needs, most: 2 },
  },
  values: { scope: scopes },
  async run({ action, words: [idOrName = "", tokenId], values, env, out, mistakes, check }) {
    const target = readTarget(values, env, mistakes);
    const { scope, "expires-in": expiresIn } = values;
    const expires_in = readSeconds("expires-in", expiresIn, mistakes);
    check();
    const body = { ...(scope && { scopes: scope }), expires_in };
    await withAdminApi(target, async (api) => {
      const path = `/admin/v1/applications/${await applicationId(api, idOrName)}/tokens`;
      if (tokenId !== undefined) {
        await api.send({ method: "DELETE", path: `${path}/${encodeURIComponent(tokenId)}` });
        return out.answer({ revoked: 1 }, "1 token revoked");
      }
      const sent = { method: methods[action], path, ...(action === "create" && { json: body }) };
      await tell(action, await api.json(sent), out);
    });
  },
});

async function tell(
  action: keyof typeof methods,
  answer: Record<string, unknown>,
  out: Output,
): Promise<void> {
  if (action === "revoke")
    return out.answer(answer, `${countOf(Number(answer["revoked"]), "token")} revoked`);
  if (action === "create") {
    await out.record(answer);
    if (!out.json) note("The token is shown only once: store it now.");
    return;
  }
  const { data } = answer as Static<typeof Tokens>;
  const rows = data.map(({ id, user_id, username, is_portal_session, scopes, ...times }) => [
    id,
    user_id === null ? (is_portal_session ? "portal" : "-") : `${username ?? ""} (${user_id})`.trim(),
    scopes.join(" "),
    times.created_at,
    times.last_used_at ?? "never",
    times.expires_at,
  ]);
  const columns = ["ID", "USER", "SCOPES", "CREATED", "LAST USED", "EXPIRES"];
  await out.table(answer, { columns, rows, empty: "The application has no access tokens." });
}
