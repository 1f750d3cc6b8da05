import type { Session } from "../../client/tokens.ts";
import { requestToken } from "../../client/tokens.ts";
import { isLoopback } from "../../doctor/ask.ts";
import { scopes } from "../../domain/tokens.ts";
import { command, readHttpUrl, readNumber, repeatable, switches, valued } from "../arguments.ts";
import { defaultProfile, isProfileName, type Profile, Profiles, profileNameOf } from "../client/profiles.ts";
import { explained, throughRequest } from "../client/public-api.ts";
import { note } from "../output/print.ts";
import { redirectUriOf, signInByBrowser } from "./browser-login.ts";
import { askFor, askForSecret, secretIn } from "./secret.ts";

const help = `Usage: onair login --url URL [--client-id ID] [--secret-file FILE] [options]
       onair login --url URL --browser [--client-id ID] [--port N] [options]

Stores credentials for a platform as a profile, for "app", "subscriptions", "deliveries", "test" and
"listen": the client id and secret of an application, or with --browser the tokens of a user who
signs in to it. The commands fetch and renew tokens when they need them.

  --url URL      the public listener of the platform, like https://api.example.com
  --client-id ID the application (default: prompt for it)
  --secret-file FILE
                 a file with its client secret; "-" reads standard input (default: prompt for the
                 secret without showing it)
  --browser      sign in as a user of the application, with a browser on this machine. A public
                 client must have the redirect URI ${redirectUriOf(0)}; a client with
                 a secret must have one with a port, and needs --port and --secret-file
  --port N       the port of the redirect URI (default: any)
  --scope SCOPE  a scope of the tokens; may be repeated (default: all scopes)
  --profile NAME the name of the profile (ONAIR_PROFILE, default: "${defaultProfile}")
  --json         print the profile and its file as JSON

Profiles are files in ~/.config/onair/profiles (or below XDG_CONFIG_HOME) that only you can read.
"onair logout" removes a profile. Exit code: 0 on success, 1 if the platform refused, 2 for wrong
usage.
`;

export const login = command({
  summary: "sign in to a platform, and store the credentials as a profile",
  help,
  options: {
    ...valued("url", "client-id", "secret-file", "port", "profile"),
    ...switches("browser", "json"),
    ...repeatable("scope"),
  },
  values: { scope: scopes },
  async run({ values, env, out, mistakes, check }) {
    const { browser = false, scope: scopes, "secret-file": file } = values;
    if (values.url === undefined) mistakes.push("--url is missing: the public listener of the platform");
    const url = readHttpUrl(values.url ?? "http://missing", "--url", mistakes).replace(/\/+$/, "");
    const name = profileNameOf(values.profile, env);
    if (!isProfileName(name))
      mistakes.push(`"${name}" cannot be the name of a profile: use letters, digits, ".", "_" and "-"`);
    if (values.port !== undefined && !browser) mistakes.push("--port needs --browser");
    const port = readNumber("port", values.port, mistakes) ?? 0;
    const canAsk = process.stdin.isTTY === true;
    if (values["client-id"] === undefined && !canAsk) mistakes.push(`--client-id is missing, ${unasked}`);
    if (file === undefined && !browser && !canAsk)
      mistakes.push(`--secret-file is missing ("-" reads standard input), ${unasked}`);
    check();
    const { protocol, hostname } = new URL(url);
    if (protocol === "http:" && !isLoopback(hostname))
      note(
        `${url} is not encrypted: others on the network can read the secret. Use https if the platform has it.`,
      );
    const clientId = values["client-id"] ?? (await askFor("Client id"));
    const asked = browser ? undefined : () => askForSecret("Client secret");
    const clientSecret = file === undefined ? await asked?.() : await secretIn(file);
    const target = { url, advice: "Check the client id and the secret." };
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
      `Signed in to ${url} as ${clientId}. The profile "${name}" is stored in ${kept}`,
    );
  },
});

const unasked = "and there is no terminal to prompt for it";

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
