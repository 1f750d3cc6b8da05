import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { isWebhookSecret, newWebhookSecret } from "../delivery/signature.ts";
import { messageOf } from "../domain/errors.ts";
import { newId, ulidPattern } from "../domain/ids.ts";
import { newSecret } from "../domain/tokens.ts";

const Secret = Type.String({ pattern: "^[\\x21-\\x7e]{8,200}$" });

const DevCredentials = Type.Object({
  /** The operator key. */
  admin_key: Secret,
  /** The client id, which is also the id of the application. */
  client_id: Type.String({ pattern: ulidPattern }),
  client_secret: Secret,
  access_token: Secret,
  webhook_secret: Secret,
  /** The application for guides, also its id. */
  guide_id: Type.String({ pattern: ulidPattern }),
  guide_secret: Secret,
  /** The application that owners use to sign in to the portal. */
  portal_login: Type.String({ pattern: ulidPattern }),
  /** The last port of the local receiver; 0 before its first start. */
  receiver_port: Type.Integer({ minimum: 0, maximum: 65_535 }),
});

/**
 * Values of a data directory that stay the same when `onair dev` restarts, so that scripts and browser tabs keep
 * working.
 */
export type DevCredentials = Readonly<Static<typeof DevCredentials>>;

const fileName = "dev.json";

/**
 * Reads the credentials of a data directory. Creates them in a new directory, which marks the directory as one of
 * `onair dev`. Throws for the directory of a server, so that invented data is not mixed with real users.
 */
export function openCredentials(directory: string): DevCredentials {
  const file = join(directory, fileName);
  if (existsSync(file)) {
    const credentials = readCredentials(file);
    saveCredentials(directory, credentials);
    return credentials;
  }
  if (existsSync(join(directory, "onair.db"))) {
    throw new Error(
      `${directory} has data of "onair serve"; "onair dev" would add invented data. Name another directory with --data.`,
    );
  }
  const isNew = makeDirectory(directory);
  // Makes git ignore the directory, because its files are secret or can be recreated.
  if (isNew) writeFileSync(join(directory, ".gitignore"), "*\n", { mode: 0o600 });
  const credentials: DevCredentials = {
    admin_key: newSecret("onair_admin_"),
    client_id: newId(),
    client_secret: newSecret("onair_cs_"),
    access_token: newSecret("onair_at_"),
    webhook_secret: newWebhookSecret(),
    guide_id: newId(),
    guide_secret: newSecret("onair_cs_"),
    portal_login: newId(),
    receiver_port: 0,
  };
  saveCredentials(directory, credentials);
  return credentials;
}

/** Creates the directory; returns whether it was missing. */
function makeDirectory(directory: string): boolean {
  try {
    return mkdirSync(directory, { recursive: true, mode: 0o700 }) !== undefined;
  } catch (error) {
    const isFile = /^(EEXIST|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? "");
    const why = isFile
      ? `${directory} is not a directory`
      : `${directory} cannot be created (${messageOf(error)})`;
    throw new Error(`${why}. Name another one with --data.`);
  }
}

/** Replaces the file of credentials atomically. The file is readable only for its owner. */
export function saveCredentials(directory: string, credentials: DevCredentials): void {
  const file = join(directory, fileName);
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}

function readCredentials(file: string): DevCredentials {
  chmodSync(file, 0o600);
  const text = readFileSync(file, "utf8");
  try {
    const value: unknown = JSON.parse(text);
    if (Value.Check(DevCredentials, value) && isWebhookSecret(value.webhook_secret)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Error(`${file} is damaged. To start over, delete its directory.`);
}
