import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { requestToken, type Session, tokenSource } from "../client/tokens.ts";
import { html } from "../dev/sign-in.ts";
import { minute } from "../domain/time.ts";
import { codeChallenge, scopes } from "../domain/tokens.ts";
import { isLoopback } from "../operations/checks/requests.ts";
import { smallFile } from "../runtime/files.ts";
import { printable } from "../runtime/terminal.ts";
import { didYouMean } from "../server/settings/command-line.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { command, readHttpUrl, readNumber, repeatable, switches, valued } from "./arguments.ts";
import { describeError, request } from "./calls/http.ts";
import { defaultProfile, isProfileName, type Profile, Profiles, profileNameOf } from "./calls/profiles.ts";
import { explained, readPublicTarget, throughRequest } from "./calls/public-api.ts";
import { stoppedByUser, UsageError } from "./command.ts";
import { note, print } from "./output/print.ts";

/** The host of the redirect URI of the sign-in with a browser. */
const redirectHost = "127.0.0.1";
const redirectPath = "/callback";

/** Returns the redirect URI that an application must register for the sign-in. */
const redirectUriOf = (port: number) =>
  `http://${redirectHost}${port === 0 ? "" : `:${port}`}${redirectPath}`;

const longestSecretBytes = 4096;

/** Reads a secret from a file or a pipe, or from standard input for "-". Throws a `UsageError`. */
async function secretIn(file: string): Promise<string> {
  const secret = (file === "-" ? await Bun.stdin.text() : contentOf(file)).trim();
  if (/^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new UsageError(
    `${file === "-" ? "Standard input" : file} must hold the client secret and nothing else`,
  );
}

function contentOf(file: string): string {
  try {
    return smallFile(file, longestSecretBytes);
  } catch (error) {
    throw new UsageError(`${file} ${(error as TypeError).message}`);
  }
}

/** Prompts for a line on the terminal. Ctrl-C and Ctrl-D end the process. Throws a `UsageError` for an empty line. */
async function askFor(what: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Without a SIGINT listener, Ctrl-C closes the interface.
  terminal.once("close", stop);
  try {
    return typedText(what, await terminal.question(`${what}: `));
  } finally {
    terminal.off("close", stop);
    terminal.close();
  }
}

function typedText(what: string, typed: string): string {
  const text = typed.trim();
  if (text === "") throw new UsageError(`${what}: nothing was typed`);
  return text;
}

function stop(): never {
  process.stderr.write("\n");
  process.exit(stoppedByUser);
}

/** Prompts for a secret without showing it. Ctrl-C and Ctrl-D end the process. Throws a `UsageError` for no text. */
async function askForSecret(what: string): Promise<string> {
  const { stdin, stderr } = process;
  // Raw mode is set before the prompt appears, so that text pasted at once is not shown.
  stdin.setRawMode(true);
  stderr.write(`${what} (not shown): `);
  stdin.resume();
  stdin.setEncoding("utf8");
  try {
    const typed = await new Promise<string>((resolve) => {
      let secret = "";
      stdin.on("data", (typed: string) => {
        for (const key of typed) {
          if (key === "\r" || key === "\n" || key === "\u0004") return resolve(secret);
          if (key === "\u0003") {
            stdin.setRawMode(false);
            stop();
          }
          secret = key === "\u007f" || key === "\b" ? secret.slice(0, -1) : secret + key;
        }
      });
    });
    return typedText(what, typed);
  } finally {
    stdin.removeAllListeners("data");
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

const loginHelp = `Usage: onair login --url URL [--client-id ID] [--secret-file FILE] [options]
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
  --json         print the profile, its file and with --browser the user as JSON

Profiles are files in ~/.config/onair/profiles (or below XDG_CONFIG_HOME) that only you can read.
"onair logout" removes a profile. Exit code: 0 on success, 1 if the platform refused, 2 for wrong
usage.
`;

export const login = command({
  summary: "sign in to a platform, and store the credentials as a profile",
  help: loginHelp,
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
    if (values["client-id"] === undefined && !canAsk) mistakes.push(`--client-id is missing, ${noTerminal}`);
    if (file === undefined && !browser && !canAsk)
      mistakes.push(`--secret-file is missing ("-" reads standard input), ${noTerminal}`);
    check();
    const { protocol, hostname } = new URL(url);
    if (protocol === "http:" && !isLoopback(hostname))
      note(
        `${url} is not encrypted: others on the network can read the secret. Use https if the platform has it.`,
      );
    const clientId = values["client-id"] ?? (await askFor("Client id"));
    const prompt = browser ? undefined : () => askForSecret("Client secret");
    const clientSecret = file === undefined ? await prompt?.() : await secretIn(file);
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
    const kept = new Profiles(env).replace(name, profile);
    const user = browser ? await signedInUser(url, session) : null;
    await out.answer(
      { profile: name, url, client_id: clientId, ...(browser && { user }), file: kept },
      `Signed in to ${url} as ${browser ? shownUser(user) : ""}${clientId}. The profile "${name}" is stored in ${kept}`,
    );
  },
});

const noTerminal = "and there is no terminal to prompt for it";

interface Application {
  /** The URL of the public listener. */
  readonly url: string;
  readonly clientId: string;
  /** The client secret; absent for a public client. */
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

const logoutHelp = `Usage: onair logout [--profile NAME | --all]

Removes a profile of "onair login", and revokes its tokens at the platform.

  --profile NAME the profile (ONAIR_PROFILE, default: "${defaultProfile}")
  --all          all profiles

Exit code: 0 on success, 2 for wrong usage.
`;

export const logout = command({
  summary: "remove a profile and revoke its tokens",
  help: logoutHelp,
  options: { ...valued("profile"), ...switches("all") },
  async run({ values, env, mistakes, check }) {
    const { profile, all = false } = values;
    if (all && profile !== undefined) mistakes.push("--all and --profile exclude each other");
    const profiles = new Profiles(env);
    const known = profiles.names();
    const name = profileNameOf(profile, env);
    if (!all && !known.includes(name))
      mistakes.push(`There is no profile "${name}".${didYouMean(name, known)}`);
    check();
    for (const one of all ? known : [name]) {
      const problem = await revokeTokens(profiles, one);
      profiles.remove(one);
      await print(`The profile "${one}" is removed.`);
      if (problem !== null)
        note(`Its tokens could not be revoked, and stay valid until they expire: ${problem}`);
    }
    if (all && known.length === 0) note("There are no profiles.");
  },
});

/** Revokes the tokens of a profile at the platform. Returns the reason of a failure; null after success. */
async function revokeTokens(profiles: Profiles, name: string): Promise<string | null> {
  try {
    const profile = profiles.find(name);
    return profile?.session ? await revoke(profile) : null;
  } catch (error) {
    return describeError(error);
  }
}

async function revoke({ url, clientId, clientSecret, session }: Profile): Promise<string | null> {
  const body = new URLSearchParams({
    token: session?.refreshToken ?? session?.accessToken ?? "",
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
  });
  const { ok, status } = await request(`${url}/oauth/revoke`, { method: "POST", body });
  return ok ? null : `${url} answered ${status}`;
}

interface BrowserLogin extends Application {
  /** The port of the redirect URI on this machine; 0 for any port, which only public clients may use. */
  readonly port: number;
}

const browserTimeoutMs = 5 * minute;

/**
 * Signs a user in with the browser of this machine: authorization code with PKCE (RFC 7636) and a loopback redirect
 * (RFC 8252). Throws when the user or the platform refuses, or when there is no answer within five minutes.
 */
async function signInByBrowser(login: BrowserLogin, env: Environment): Promise<Session> {
  const { issuer, authorization_endpoint: endpoint } = await metadataOf(login.url);
  if (endpoint === undefined)
    throw new Error(
      `${login.url} has no login page, so users cannot sign in: leave out --browser to use the application's own tokens`,
    );
  const state = randomBytes(16).toString("base64url");
  const verifier = randomBytes(32).toString("base64url");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const server = Bun.serve({
    hostname: redirectHost,
    port: login.port,
    reusePort: false,
    development: false,
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== redirectPath || request.method !== "GET") return new Response(null, { status: 404 });
      const isOurs = searchParams.get("state") === state && searchParams.get("iss") === issuer;
      if (!isOurs)
        return page(
          400,
          "Not signed in",
          "This is not the response to the sign-in that the terminal waits for.",
        );
      const code = searchParams.get("code");
      if (code !== null) {
        resolve(code);
        return page(200, "Signed in", "You can close this page and return to the terminal.");
      }
      const why =
        searchParams.get("error_description") ?? searchParams.get("error") ?? "the answer has no code";
      reject(new Error(`The sign-in was refused: ${printable(why)}`));
      return page(400, "Not signed in", "The terminal says why.");
    },
  });
  const late = setTimeout(
    () => reject(new Error("No user signed in within five minutes. Try again")),
    browserTimeoutMs,
  );
  try {
    const redirect_uri = redirectUriOf(server.port ?? 0);
    const query = new URLSearchParams({
      response_type: "code",
      client_id: login.clientId,
      redirect_uri,
      state,
      code_challenge: codeChallenge(verifier),
      code_challenge_method: "S256",
      ...(login.scopes && { scope: login.scopes.join(" ") }),
    });
    open(`${endpoint}?${query}`, env);
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      code: await promise,
      redirect_uri,
      code_verifier: verifier,
      client_id: login.clientId,
      ...(login.clientSecret !== undefined && { client_secret: login.clientSecret }),
    });
    return await requestToken(login.url, form, throughRequest);
  } finally {
    clearTimeout(late);
    // `stop` waits until the browser has received the page.
    await server.stop();
  }
}

interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint?: string;
}

/**
 * Fetches the metadata of the authorization server (RFC 8414). The `issuer` must be the requested URL (section 3.3):
 * otherwise a malicious server could name another platform's login page, and receive a code that is valid there.
 */
async function metadataOf(url: string): Promise<Metadata> {
  const response = await request(`${url}/.well-known/oauth-authorization-server`);
  const { issuer, authorization_endpoint: endpoint } = ((await response.json().catch(() => null)) ??
    {}) as Readonly<Record<string, unknown>>;
  if (!response.ok || typeof issuer !== "string")
    throw new Error(`${url} is not the public listener of an On Air server`);
  if (!URL.canParse(issuer) || new URL(issuer).href !== new URL(url).href)
    throw new Error(`${url} says that its URL is ${printable(issuer)}: if you trust that, give it as --url`);
  if (endpoint === undefined) return { issuer };
  // Only URLs of web pages are allowed, because the URL is shown and passed to another program.
  const page = typeof endpoint === "string" && URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (!page || !/^https?:$/.test(page.protocol)) throw new Error(`${url} has no valid sign-in page`);
  return { issuer, authorization_endpoint: page.href };
}

/** The user who signed in. */
interface SignedInUser {
  readonly id: number;
  readonly username: string;
  readonly display_name: string;
}

/** Asks the platform who signed in. Notes a failure and returns null, because the tokens are good without that. */
async function signedInUser(url: string, { accessToken }: Session): Promise<SignedInUser | null> {
  try {
    const headers = { authorization: `Bearer ${accessToken}` };
    const response = await request(`${url}/oauth/userinfo`, { headers });
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
    const { sub, preferred_username, name } = ((await response.json().catch(() => null)) ?? {}) as Readonly<
      Record<string, unknown>
    >;
    const isValid =
      typeof sub === "string" && typeof preferred_username === "string" && typeof name === "string";
    if (!isValid) throw new Error(`the answer of ${url} is not valid`);
    return { id: Number(sub), username: preferred_username, display_name: name };
  } catch (error) {
    note(`It is not known who signed in: ${describeError(error)}`);
    return null;
  }
}

function shownUser(user: SignedInUser | null): string {
  if (user === null) return "a user of ";
  return `${printable(user.username)} (${printable(user.display_name)}, id ${user.id}), a user of `;
}

/** Prints a URL, and opens it in the browser if there is one. */
function open(address: string, env: Environment): void {
  note(`Sign in with a browser on this machine:\n\n  ${address}\n`);
  const openers: Readonly<Record<string, readonly string[]>> = {
    darwin: ["open"],
    win32: ["rundll32", "url.dll,FileProtocolHandler"],
  };
  const command = env["BROWSER"] ? [env["BROWSER"]] : (openers[process.platform] ?? ["xdg-open"]);
  try {
    Bun.spawn([...command, address], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).unref();
  } catch {
    // There is no browser; the user can open the printed URL.
  }
}

function page(status: number, title: string, sentence: string): Response {
  return html(status, title, `<h1>${title}</h1><p>${sentence}</p>`);
}

const help = `Usage: onair token [--profile NAME] [--renew]

Prints an access token of the profile, for other programs:

  curl -H "Authorization: Bearer $(onair token)" https://api.example.com/public/v1/users/maya

A stored token is printed until shortly before it expires; then a new one is fetched and stored.
With ONAIR_TOKEN and without --profile, prints ONAIR_TOKEN.

  --profile NAME the profile of "onair login" (ONAIR_PROFILE, default: "default", else "dev", the
                 profile that "onair dev" stores)
  --renew        fetch a new token, for example after the tokens of the application were revoked

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

export const token = command({
  summary: "print an access token of the profile",
  help,
  options: { ...valued("profile"), ...switches("renew") },
  async run({ values: { profile, renew = false }, env, mistakes, check }) {
    const target = readPublicTarget(profile === undefined ? {} : { profile }, env, mistakes);
    check();
    const { credentials, url } = target;
    if (renew && credentials.token !== undefined)
      throw new UsageError("--renew needs a profile: ONAIR_TOKEN holds a token that cannot be renewed");
    const source = tokenSource(url, credentials, throughRequest);
    await explained(target, async () => {
      const stored = await source.current();
      await print((renew ? await source.after(stored ?? "") : stored) ?? "");
    });
  },
});
