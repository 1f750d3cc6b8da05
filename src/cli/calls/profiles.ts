import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { jsonObject } from "../../domain/validation/json.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import { UsageError } from "../command.ts";

const ProfileFile = Type.Object({
  /** The URL of the public listener, without a trailing slash. */
  url: Type.String({ pattern: "^https?://[^\\s/]" }),
  clientId: Type.String(),
  /** The client secret; absent for a public client. */
  clientSecret: Type.Optional(Type.String()),
  /** The scopes to request; absent for all scopes of the application. */
  scopes: Type.Optional(Type.Array(Type.String())),
  /** The current tokens. Tokens of a user have a refresh token. */
  session: Type.Optional(
    Type.Object({
      accessToken: Type.String(),
      expiresAt: Type.Number(),
      refreshToken: Type.Optional(Type.String()),
    }),
  ),
  /** The admin listener of `onair dev` and its operator key; only in the profile that `onair dev` stores. */
  admin: Type.Optional(
    Type.Object({ url: Type.String({ pattern: "^https?://[^\\s/]" }), key: Type.String() }),
  ),
  /** `whsec_…`, which signs the webhooks that commands send to a program on this machine; made when first needed. */
  forwardSecret: Type.Optional(Type.String()),
});

/** A platform and credentials for it, as stored by `onair login`. */
export type Profile = Readonly<Static<typeof ProfileFile>>;

const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const suffix = ".json";

/** The name of the profile to use when the user names no profile. */
export const defaultProfile = "default";

/** The profile that `onair dev` stores; commands use it when no profile is named and there is no default one. */
export const devProfile = "dev";

/** The profile that `onair dev` stores for guides, of an application without webhook URL and subscriptions. */
export const guideProfile = "guide";

/** Returns the name of the profile to use: `given`, else the name in `ONAIR_PROFILE`, else the default. */
export function profileNameOf(name: string | undefined, env: Environment): string {
  return name ?? (env["ONAIR_PROFILE"] || defaultProfile);
}

/** The profiles of this operating system user, each in a file with mode 0600. */
export class Profiles {
  readonly #directory: string | null;

  constructor(env: Environment) {
    const home = env["XDG_CONFIG_HOME"] || (env["HOME"] && join(env["HOME"], ".config"));
    this.#directory = home ? join(home, "onair", "profiles") : null;
  }

  /** Returns the names in alphabetical order. */
  names(): string[] {
    if (this.#directory === null) return [];
    try {
      const files = readdirSync(this.#directory).filter((file) => file.endsWith(suffix));
      return files
        .map((file) => file.slice(0, -suffix.length))
        .filter(isProfileName)
        .sort();
    } catch {
      return [];
    }
  }

  /** Returns the profile with this name, or null. Throws when other users can read its file, or the file is damaged. */
  find(name: string): Profile | null {
    const file = this.#fileOf(name);
    const stats = file === null ? undefined : statSync(file, { throwIfNoEntry: false });
    if (file === null || !stats) return null;
    if (!stats.isFile()) throw new Error(`${file} is not a file`);
    if (process.platform !== "win32" && (stats.mode & 0o077) !== 0)
      throw new Error(`${file} can be read by other users of the machine: chmod 600 ${file}`);
    const profile = parsed(readFileSync(file, "utf8"));
    if (profile === null)
      throw new Error(`${file} is damaged; to replace it: onair login --url URL --profile ${name}`);
    return profile;
  }

  /** Stores a profile, replacing the one with this name. Returns its file. */
  save(name: string, profile: Profile): string {
    const file = this.#fileOf(name);
    if (file === null || this.#directory === null)
      throw new UsageError("Profiles need a home directory: HOME is not set");
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const partial = `${file}.${process.pid}.partial`;
    try {
      writeFileSync(partial, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600 });
      // An existing file would keep its mode.
      chmodSync(partial, 0o600);
      renameSync(partial, file);
    } finally {
      rmSync(partial, { force: true });
    }
    return file;
  }

  /** Stores a profile of a new sign-in. A profile of the same application keeps its secret for forwarded webhooks. */
  replace(name: string, profile: Profile): string {
    const file = this.#fileOf(name);
    const isThere = file !== null && statSync(file, { throwIfNoEntry: false })?.isFile();
    const before = isThere ? parsed(readFileSync(file, "utf8")) : null;
    const isSame = before?.url === profile.url && before.clientId === profile.clientId;
    const { forwardSecret } = (isSame && before) || {};
    return this.save(name, { ...profile, ...(forwardSecret !== undefined && { forwardSecret }) });
  }

  /** Removes a profile. Returns false when no profile has this name. */
  remove(name: string): boolean {
    const file = this.#fileOf(name);
    if (file === null || !statSync(file, { throwIfNoEntry: false })) return false;
    rmSync(file);
    return true;
  }

  #fileOf(name: string): string | null {
    if (!isProfileName(name)) return null;
    return this.#directory === null ? null : join(this.#directory, `${name}${suffix}`);
  }
}

function parsed(text: string): Profile | null {
  const profile: unknown = jsonObject(text);
  if (!Value.Check(ProfileFile, profile) || !URL.canParse(profile.url)) return null;
  const hasCredentials = profile.clientSecret !== undefined || profile.session?.refreshToken !== undefined;
  return hasCredentials ? profile : null;
}

/** Whether a profile can have this name. */
export function isProfileName(name: string): boolean {
  return nameForm.test(name);
}
