import type { Static } from "@sinclair/typebox";
import type { Keys } from "../api/admin/keys.ts";
import { newOperatorKey, roles } from "../domain/operator-keys.ts";
import { isoTime } from "../domain/time.ts";
import { storageAt } from "../server/storage-at.ts";
import { command, readSeconds, switches, valued } from "./arguments.ts";
import { type AdminApi, withAdminApi } from "./calls/admin-api.ts";
import { readTarget, requireData, type Target, targetHelp, targetOptions } from "./calls/target.ts";
import type { Output } from "./output/output.ts";
import { recordLines } from "./output/print.ts";

const help = `Usage: onair admin-key <action> [options]

Manages the keys of the admin API, at a running server or in a data directory that no server uses.
Only hashes of the keys are stored.

  list               lists all keys; the key in ONAIR_ADMIN_KEY is listed only by its own server
  create             makes a key; it is shown only once
  revoke ID          revokes a key at once; the last valid operator key cannot be revoked
  reset              if the operator key is lost: makes an operator key that replaces all others in
                     the data directory; not with --url. Keys with other roles stay valid, and so
                     does the key in a server's ONAIR_ADMIN_KEY

  --name NAME        for create: a name to recognize the key by
  --role ROLE        for create: operator (everything), publisher (the platform's data and events,
                     nothing else), or reader (reads everything, but downloads no backup)
  --expires-in DURATION
                     for create, like 1h or 90d (default: the key does not expire)
${targetHelp}
  --json             print the answer as JSON

The first start of "onair serve" makes an operator key, unless ONAIR_ADMIN_KEY is set, and shows it
on the terminal. Without a terminal, the key is in the file onair.admin-key of the data directory.
Once a server starts with ONAIR_ADMIN_KEY, the key of the first start is invalid for good.

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

const path = "/admin/v1/keys";

export const adminKey = command({
  summary: "list, create and revoke keys of the admin API",
  help,
  options: { ...targetOptions, ...switches("json"), ...valued("name", "role", "expires-in") },
  choices: { role: roles },
  actions: {
    list: {},
    create: { options: ["name", "role", "expires-in"] },
    revoke: { needs: "the id of the key" },
    reset: {},
  },
  async run({ action, words: [id = ""], values, env, out, mistakes, check }) {
    const { name, role, "expires-in": expiresIn, url, ...local } = values;
    if (action === "reset" && url !== undefined)
      mistakes.push("reset works on a data directory that no server uses: name it with --data");
    const target =
      action === "reset"
        ? readTarget(local, { ...env, ONAIR_URL: undefined, ONAIR_ADMIN_URL: undefined }, mistakes)
        : readTarget(values, env, mistakes);
    if (action === "create" && name === undefined) mistakes.push("--name is missing");
    if (action === "create" && role === undefined)
      mistakes.push("--role is missing: operator, publisher or reader");
    const expires_in = readSeconds("expires-in", expiresIn, mistakes);
    check();
    if (action === "reset") return reset(target, out);
    const body = { name, role, expires_in };
    await withAdminApi(target, (api) => perform(api, { action, id, body, out }));
  },
});

interface KeyAction {
  readonly action: "list" | "create" | "revoke";
  readonly id: string;
  readonly body: unknown;
  readonly out: Output;
}

async function perform(api: AdminApi, { action, id, body, out }: KeyAction): Promise<void> {
  if (action === "revoke") {
    await api.send({ method: "DELETE", path: `${path}/${encodeURIComponent(id)}` });
    return out.answer({ id, revoked: true }, `${id} is revoked`);
  }
  if (action === "create") return out.record(await api.json({ method: "POST", path, json: body }));
  const keys = await api.get<Static<typeof Keys>>(path);
  const rows = keys.data.map(({ id, name, role, prefix, created_at, expires_at, last_used_at }) => {
    const isExpired = expires_at !== null && Date.parse(expires_at) <= Date.now();
    const end = isExpired ? "expired" : (expires_at ?? "never");
    return [id, role, prefix === "" ? "-" : `${prefix}…`, created_at, end, last_used_at ?? "never", name];
  });
  const columns = ["ID", "ROLE", "KEY", "CREATED", "EXPIRES", "LAST USED", "NAME"];
  return out.table(keys, {
    columns,
    rows,
    empty: 'There are no keys. The first start of "onair serve" makes one.',
  });
}

async function reset({ location }: Target, out: Output): Promise<void> {
  await requireData(location);
  const { store } = await (await storageAt(location)).open();
  try {
    const now = Date.now();
    const name = `reset ${isoTime(now)}`;
    const { secret, key } = newOperatorKey({ name, role: "operator", source: "created", now });
    const ended = await store.operatorKeys.reset(key);
    const { id, role } = key;
    const made = { id, name, role, key: secret };
    await out.answer({ ...made, ended }, `${recordLines(made)}\n\nOperator keys revoked: ${ended}`);
  } finally {
    await store.close();
  }
}
