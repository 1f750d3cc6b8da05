import type { Session } from "../../client/tokens.ts";
import { requestToken } from "../../client/tokens.ts";
import { isLoopback } from "../../doctor/ask.ts";
import { scopes } from "../../domain/tokens.ts";
import { command, readHttpUrl, readNumber, repeatable, switches, valued } from "../arguments.ts";
import { defaultProfile, isProfileName, type Profile, Profiles } from "../client/profiles.ts";
import { explained, throughRequest } from "../client/public-api.ts";
import { profileNames } from "../completion/words.ts";
import { note } from "../output/print.ts";
import { redirectUriOf, signInByBrowser } from "./browser-login.ts";
import { askFor, askForSecret, secretIn } from "./secret.ts";

const help = `Usage: onair login --url URL [--client-id ID] [--secret-file FILE] [options]
       onair login --url URL --browser [--client-id ID] [--port N] [options]

Keeps who you are at a platform, so that "app", "subscriptions", "deliveries", "test" and "listen"
need nothing else: the client id and secret of an application, or with --browser the tokens of a
user who signs in to it. Tokens are fetched and renewed when they are needed.

  --url URL      the public listener of the platform, like https://api.example.com
  --client-id ID the application (default: asked for)
  --secret-file FILE
                 a file with its client secret; "-" reads standard input (default: asked for, and
                 not shown)
  --browser      sign in as a user of the application, with the browser of this machine. A public
                 client registers the redirect URI ${redirectUriOf(0)}; one with a
                 secret registers it with a port, and needs --port and --secret-file
  --port N       the port of the redirect URI (default: any)
  --scope SCOPE  what the tokens are for; may be repeated (default: everything)
  --profile NAME the name under which it is kept (ONAIR_PROFILE, default: "${defaultProfile}")
  --json         print where it is kept as JSON

Profiles are files in ~/.config/onair/profiles (XDG_CONFIG_HOME) that only you may read. "onair
logout" removes one. Exit code: 0 when it is kept, 1 when the platform refused, 2 for wrong usage.
`;

export const login = command({
  summary: "keep who you are at a platform, as a profile",
  help,
  options: {
    ...valued("url", "client-id", "secret-file", "port", "profile"),
    ...switches("browser", "json"),
    ...repeatable("scope"),
  },
  values: { profile: profileNames, scope: scopes },
  async run({ values, env, out, mistakes, check }) {
    const { browser = false, scope: scopes, "secret-file": file } = values;
    if (values.url === undefined) mistakes.push("--url is missing: the public listener of the platform");
    const url = readHttpUrl(values.url ?? "http://missing", "--url", mistakes).replace(/\/+$/, "");
    const name = values.profile ?? (env["ONAIR_PROFILE"] || defaultProfile);
    if (!isProfileName(name)) mistakes.push(`"${name}" cannot be the name of a profile`);
    if (values.port !== undefined && !browser) mistakes.push("--port is for --browser");
    const port = readNumber("port", values.port, mistakes) ?? 0;
    const canAsk = process.stdin.isTTY === true;
    if (values["client-id"] === undefined && !canAsk) mistakes.push(`--client-id is missing, ${unasked}`);
    if (file === undefined && !browser && !canAsk)
      mistakes.push(`--secret-file is missing ("-" reads standard input), ${unasked}`);
    check();
    const { protocol, hostname } = new URL(url);
    if (protocol === "http:" && !isLoopback(hostname))
      note(`${url} is not encrypted: others on the way can read the secret. Is it https?`);
    const clientId = values["client-id"] ?? (await askFor("Client id"));
    const asked = browser ? undefined : () => askForSecret("Client secret");
    const clientSecret = file === undefined ? await asked?.() : await secretIn(file);
    const target = { url, advice: "Look at the client id and the secret." };
    const session = await explained(target, () => {
      const wanted = { url, clientId, clientSecret, scopes };
      return browser ? signInByBrowser({ ...wanted, port }, env) : appToken(wanted);
    });
    const profile: Profile = {
      url,
      clientId,
      ...(clientSecret !== undefined && { clientSecret }),
      ...(scopes && { scopes }),
      session,
    };
    const kept = new Profiles(env).save(name, profile);
    await out.answer(
      { profile: name, url, client_id: clientId, file: kept },
      `${url} takes ${clientId}. It is kept as the profile "${name}" in ${kept}`,
    );
  },
});

const unasked = "and without a terminal nothing can be asked for";

interface Application {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly scopes: readonly string[] | undefined;
}

function appToken({ url, clientId, clientSecret = "", scopes }: Application): Promise<Session> {
  const form = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: clientSecret,
    ...(scopes && { scope: scopes.join(" ") }),
  });
  return requestToken(url, form, throughRequest);
}
