import { type Client, createClient } from "../../client/create-client.ts";
import { OnairError } from "../../client/http.ts";
import type { Credentials } from "../../client/tokens.ts";
import { newWebhookSecret } from "../../delivery/signature.ts";
import { isLoopback } from "../../operations/checks/requests.ts";
import { didYouMean } from "../../server/settings/command-line.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import { type OptionValues, readHttpUrl, valued } from "../arguments.ts";
import { UsageError } from "../command.ts";
import { note } from "../output/print.ts";
import { isItRunning, publicRefusal, request, Unreachable } from "./http.ts";
import {
  defaultProfile,
  devProfile,
  guideProfile,
  isProfileName,
  type Profile,
  Profiles,
  profileNameOf,
} from "./profiles.ts";
import { type NamedData, namesData } from "./target.ts";

/** The public API, and the credentials with which a command uses it. */
interface PublicTarget {
  /** The URL of the public listener, without a trailing slash. */
  readonly url: string;
  readonly credentials: Credentials;
  /** What the user can do when the server refuses the token. */
  readonly advice: string;
  /** What the user can do when nothing answers, for a profile of `onair dev`. */
  readonly whenAway?: string;
  /** The option for suggested commands that names the same target, with a leading space; "" when not needed. */
  readonly option: string;
  /** The name of a profile that has the tokens of a user; null for an application, and for a given token. */
  readonly userProfile: string | null;
  /** Returns the secret that signs forwarded webhooks; the profile keeps it. null without a profile. */
  keptSecret(): string | null;
}

export const publicOptions = valued("url", "token", "profile");
type PublicTargetOptions = OptionValues<typeof publicOptions>;

export const publicHelp = `  --profile NAME the profile of "onair login" with platform and credentials (ONAIR_PROFILE, default:
                 "default", else "dev", which "onair dev" stores)
  --url URL, --token TOKEN
                 instead: the public listener (ONAIR_URL, default: http://127.0.0.1:8080) and an
                 access token with the scope events:subscribe (better in ONAIR_TOKEN, because other
                 users of the machine can see options)`;

const noCredentials =
  'there are no credentials: sign in with "onair login --url URL", or set ONAIR_TOKEN to an access token';

/**
 * Reads the credentials for the public API: `--profile` or `--token`, else `ONAIR_TOKEN`, else `ONAIR_PROFILE` or the
 * default profile. Adds problems to `mistakes`.
 */
export function readPublicTarget(
  options: PublicTargetOptions,
  env: Environment,
  mistakes: string[],
): PublicTarget {
  if (options.token !== undefined && options.profile !== undefined)
    mistakes.push("--token and --profile exclude each other");
  const token =
    options.token ?? (options.profile === undefined ? env["ONAIR_TOKEN"] || undefined : undefined);
  return token === undefined ? ofProfile(options, env, mistakes) : ofToken(token, options, env, mistakes);
}

/** Variables that make a command use the admin API. */
const operatorVariables = [
  "ONAIR_ADMIN_KEY",
  "ONAIR_ADMIN_KEY_FILE",
  "ONAIR_DATA",
  "ONAIR_DATABASE",
  "ONAIR_DATABASE_FILE",
];

/**
 * Whether a command that supports both APIs uses the public API. `--profile` and `--token` select the public API.
 * Without them, an operator key, a data directory or a database selects the admin API. Without any of these, a token or
 * profile selects the public API.
 */
export function usesPublicApi(options: PublicTargetOptions & NamedData, env: Environment): boolean {
  if (options.profile !== undefined || options.token !== undefined) return true;
  if (namesData(options)) return false;
  if (operatorVariables.some((name) => env[name])) return false;
  const { ONAIR_TOKEN, ONAIR_PROFILE } = env;
  if (ONAIR_TOKEN || ONAIR_PROFILE) return true;
  const names = new Profiles(env).names();
  return names.includes(defaultProfile) || names.includes(devProfile);
}

function ofToken(
  token: string,
  options: PublicTargetOptions,
  env: Environment,
  mistakes: string[],
): PublicTarget {
  const { url } = options;
  const holder = options.token === undefined ? "ONAIR_TOKEN" : "--token";
  if (!/^[\x21-\x7e]+$/.test(token))
    mistakes.push("The access token has invalid characters: check that it was copied correctly");
  const source = url === undefined && env["ONAIR_URL"] ? "ONAIR_URL" : "--url";
  const address = readHttpUrl(url ?? (env["ONAIR_URL"] || "http://127.0.0.1:8080"), source, mistakes);
  return {
    url: address.replace(/\/+$/, ""),
    credentials: { token },
    advice: `${holder} must hold a valid access token.`,
    option: url === undefined ? "" : ` --url ${url}`,
    userProfile: null,
    keptSecret: () => null,
  };
}

function ofProfile(
  { url, profile }: PublicTargetOptions,
  env: Environment,
  mistakes: string[],
): PublicTarget {
  const profiles = new Profiles(env);
  const named = profileNameOf(profile, env);
  const isUnnamed = profile === undefined && !env["ONAIR_PROFILE"];
  const name = isUnnamed && !profiles.find(named) && profiles.find(devProfile) ? devProfile : named;
  const found = isProfileName(name) ? profiles.find(name) : null;
  const noTarget = {
    url: "",
    credentials: {},
    advice: "",
    option: "",
    userProfile: null,
    keptSecret: () => null,
  };
  if (found === null) {
    const isNamed = profile !== undefined || Boolean(env["ONAIR_PROFILE"]);
    const names = profiles.names();
    const meant = didYouMean(name, names) || (names.length > 0 ? ` There are: ${names.join(", ")}.` : "");
    const none =
      names.length > 0 ? `${noCredentials}, or name a profile: ${names.join(", ")}` : noCredentials;
    mistakes.push(isNamed ? `There is no profile "${name}".${meant}` : none);
    return noTarget;
  }
  // The secret of a profile is sent only to the platform that it belongs to.
  if (url !== undefined && url.replace(/\/+$/, "") !== found.url)
    mistakes.push(
      `The profile "${name}" is for ${found.url}; to make another: onair login --url ${url} --profile NAME`,
    );
  const { url: platform, forwardSecret, ...credentials } = found;
  // Read again, because another command may have changed it.
  const change = (changes: Partial<Profile>) =>
    void profiles.save(name, { ...(profiles.find(name) ?? found), ...changes });
  return {
    url: platform,
    credentials: {
      ...credentials,
      saveSession: (session) => change({ session }),
    },
    advice: `Sign in again: onair login --url ${platform}${name === defaultProfile ? "" : ` --profile ${name}`}`,
    ...((name === devProfile || name === guideProfile) &&
      isLoopback(new URL(platform).hostname) && {
        whenAway: `Start "onair dev" again, also if it runs: the profile "${name}" names the one that started last.`,
      }),
    option: profile === undefined ? "" : ` --profile ${profile}`,
    userProfile: found.session?.refreshToken === undefined ? null : name,
    keptSecret() {
      const secret = forwardSecret ?? newWebhookSecret();
      if (forwardSecret === undefined) change({ forwardSecret: secret });
      return secret;
    },
  };
}

/** Adds a mistake for `--broadcaster` with the tokens of a user, for which the API ignores it. */
export function refuseForUser({ userProfile }: Pick<PublicTarget, "userProfile">, mistakes: string[]): void {
  if (userProfile !== null)
    mistakes.push(
      `--broadcaster is for applications: the profile "${userProfile}" is of a user, whose channel is meant`,
    );
}

/**
 * Throws a `UsageError` for `--broadcaster` with a token that turns out to be a user's. For a profile, which says whose
 * it is, `refuseForUser` does so without a request.
 */
export async function refuseUserToken(
  api: Client,
  { credentials }: Pick<PublicTarget, "credentials">,
): Promise<void> {
  if (!("token" in credentials)) return;
  const user = await api.get("/oauth/userinfo").catch((error) => {
    // A token of an application is refused there.
    if (error instanceof OnairError && error.status === 403) return null;
    throw error;
  });
  if (user === null) return;
  throw new UsageError(
    `--broadcaster is for applications: the token is of the user ${user.preferred_username}, whose channel is meant`,
  );
}

/** Sends a request of the client through `request`, which all commands use. */
export async function throughRequest({ url, method, headers, body, signal }: Request): Promise<Response> {
  const sent = body === null ? null : await new Response(body).arrayBuffer();
  return request(url, { method, headers, signal, ...(sent && { body: sent }) });
}

/** Opens the public API for `work`. Throws errors of the API as described by `forPeople`. */
export function withPublicApi<T>(target: PublicTarget, work: (api: Client) => Promise<T>): Promise<T> {
  const { url, credentials } = target;
  const waiting = (waitMs: number, status: number) =>
    note(`${url} answered ${status}; trying again in ${Math.ceil(waitMs / 1000)} s`);
  return explained(target, () => work(createClient({ ...credentials, url, fetch: throughRequest, waiting })));
}

/** Runs `work`. Throws errors of the API as described by `forPeople`. */
export async function explained<T>(target: ErrorContext, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw forPeople(error, target);
  }
}

type ErrorContext = Pick<PublicTarget, "url" | "advice" | "whenAway">;

/**
 * Converts an error of the public API, or of a request to it, to an error that says what to do. Returns any other error
 * unchanged.
 */
export function forPeople(error: unknown, { url, advice, whenAway }: ErrorContext): unknown {
  if (error instanceof Unreachable && whenAway !== undefined && error.message.endsWith(isItRunning))
    return new Error(`${error.message.slice(0, -isItRunning.length)} ${whenAway}`);
  if (error instanceof SyntaxError) return new Error(`${url} is not the public listener of an On Air server`);
  if (!(error instanceof OnairError)) return error;
  // The token endpoint answers with these codes to a refresh token or secret that is no longer valid.
  const isUnknown = error.code === "invalid_grant" || error.code === "invalid_client";
  const said = publicRefusal(error, url, advice);
  return new Error(isUnknown && error.status !== 401 ? `${said} ${advice}` : said);
}
