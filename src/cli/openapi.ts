import { adminApp } from "../api/admin.ts";
import { rateLimiter } from "../api/http/access.ts";
import { Traffic } from "../api/http/context.ts";
import { openApi30Path, openApiPath } from "../api/openapi/routes.ts";
import { publicApp } from "../api/public.ts";
import { urlOf } from "../runtime/client-address.ts";
import { createLog } from "../runtime/log.ts";
import type { Config } from "../server/settings/config.ts";
import { variablesOf } from "../server/settings/shown-settings.ts";
import { command, switches, valued } from "./arguments.ts";
import { readSettings } from "./calls/target.ts";
import { checkOutputFile, replaceFile } from "./files.ts";
import { print, write } from "./output/print.ts";

const help = `Usage: onair openapi [options]

Prints the OpenAPI 3.1 document of the public API, byte for byte as a server with the same address
serves it at /openapi.json, or with --openapi 3.0 its form at /openapi-3.0.json. It needs neither a
server nor a data directory.

  --admin              print the document of the admin API instead
  --openapi VERSION    3.1 (the default), or 3.0 for generators that read nothing newer
  --out FILE           write to a file, replacing it; "-" is standard output
  --public-url URL     the URL at which clients reach the public API (ONAIR_PUBLIC_URL; default: the
                       address of the public listener)

The address is in "servers", in the token URLs and in examples; no other setting has an effect.
Listeners are at --host and --port (ONAIR_HOST, ONAIR_PORT), --admin-host and --admin-port
(ONAIR_ADMIN_HOST, ONAIR_ADMIN_PORT), with the defaults of "onair serve". The admin document always
has the address of the admin listener.

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

const addressNames = ["host", "port", "admin-host", "admin-port", "public-url"] as const;

export const openapi = command({
  summary: "print the OpenAPI document",
  help,
  options: { ...valued(...addressNames), ...switches("admin"), ...valued("out", "openapi") },
  choices: { openapi: ["3.1", "3.0"] },
  async run({ values, env, mistakes, check }) {
    const { admin = false, out = "-", openapi: version = "3.1" } = values;
    if (admin && values["public-url"] !== undefined)
      mistakes.push(
        "--public-url is for the public document; the admin document has the address of the admin listener",
      );
    if (out !== "-") checkOutputFile(out, { force: true }, mistakes);
    // The settings of "onair serve" that the document depends on. All other settings are ignored.
    const variables = variablesOf(env, "host", "port", "adminHost", "adminPort", "publicUrl");
    const address = addressOf(admin, readSettings(values, addressNames, variables), mistakes);
    check();
    const path = version === "3.0" ? openApi30Path : openApiPath;
    const document = await documentOf(admin ? adminRoutes(address) : publicRoutes(address), path);
    if (out === "-") await write(document);
    else {
      await replaceFile(out, (partial) => Bun.write(partial, document));
      await print(`${out} has the OpenAPI document of ${address}`);
    }
  },
});

function addressOf(admin: boolean, config: Config, mistakes: string[]): string {
  const { publicUrl, host, port, adminHost, adminPort, tlsCert, adminTlsCert } = config;
  if (!admin && publicUrl !== null) return publicUrl;
  if ((admin ? adminPort : port) === 0)
    mistakes.push(
      `${admin ? "--admin-port" : "--port"} 0 picks a port when a server starts: name the port of the server`,
    );
  return admin ? urlOf(adminHost, adminPort, adminTlsCert !== null) : urlOf(host, port, tlsCert !== null);
}

/** A placeholder for dependencies that are used only by requests. Any access throws. */
const absent: never = new Proxy(
  () => {
    throw new Error("This app only describes its routes");
  },
  { get: () => absent },
) as never;

/** Returns placeholders for the dependencies with these names. */
function without<Name extends string>(...names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, absent])) as Record<Name, never>;
}

function publicRoutes(url: string) {
  return publicApp({
    ...without(
      "store",
      "ranking",
      "cursors",
      "challenges",
      "engine",
      "catalogue",
      "streams",
      "outcomes",
      "requests",
      "publicKey",
      "now",
    ),
    // The document is requested once, so no rate limit applies.
    access: { authenticator: absent, limiter: rateLimiter(Date.now), defaultRateLimit: 0 },
    log: createLog("off"),
    defaultSubscriptionLimit: () => 0,
    allowPrivateWebhooks: false,
    loginUrl: null,
    publicUrl: () => url,
  });
}

function adminRoutes(url: string) {
  return adminApp({
    ...without(
      "store",
      "engine",
      "data",
      "publisher",
      "backups",
      "catalogue",
      "cursors",
      "challenges",
      "now",
    ),
    ...without("whyNotReady", "isStopping", "publicUrl", "operatorKeys", "facts", "findings", "outcomes"),
    ...without("trail", "limiter"),
    traffic: { public: absent, admin: new Traffic() },
    log: createLog("off"),
    allowPrivateWebhooks: false,
    adminUrl: () => url,
  });
}

/** Requests the document by HTTP semantics, so that it has the same bytes as on a server. */
async function documentOf(
  app: ReturnType<typeof publicRoutes> | ReturnType<typeof adminRoutes>,
  path: string,
) {
  const { fetch } = app.compile();
  const answer = await fetch(new Request(`http://onair.invalid${path}`));
  if (!answer.ok) throw new Error(`The document could not be made: ${await answer.text()}`);
  return new Uint8Array(await answer.arrayBuffer());
}
