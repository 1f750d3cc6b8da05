import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { DomainError } from "../domain/errors.ts";
import { maxId } from "../domain/ids.ts";
import { minute, second } from "../domain/time.ts";
import { parseScopes, type Scope } from "../domain/tokens.ts";
import type { Store } from "../store/store.ts";
import { readBytes } from "./body.ts";
import type { Caller } from "./caller.ts";

/** Where the platform's access tokens come from and whom they must be for. */
interface PlatformJwtSettings {
  readonly jwksUrl: string;
  readonly issuer: string;
  readonly audience: string;
  /** Whether a token without a subject is the application's own; else it is none. */
  readonly appWithoutSub: boolean;
}

interface PlatformJwtDeps {
  readonly settings: PlatformJwtSettings;
  readonly store: Pick<Store, "applications" | "users">;
  readonly now: () => number;
  /** Between two fetches of the keys because of an unknown one. */
  readonly cooldownMs?: number;
}

/** Signatures that only the holder of a private key can make: never `none`, never HMAC. */
const algorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

/** How far the clocks of platform and server may be apart. */
export const clockToleranceMs = minute;
const fetchTimeoutMs = 5 * second;
const maxKeySetBytes = 256 * 1024;
const maxTokenLength = 8192;

/**
 * Reads access tokens that are JWTs of the platform (RFC 9068), signed by a key of its key set, which is fetched again
 * when it is ten minutes old or lacks a key. Null: not a good token. Throws `unavailable` when the keys cannot be had.
 */
export function platformJwtReader({ settings, store, now, cooldownMs = 30 * second }: PlatformJwtDeps) {
  const keySet = createRemoteJWKSet(new URL(settings.jwksUrl), {
    timeoutDuration: fetchTimeoutMs,
    cooldownDuration: cooldownMs,
    cacheMaxAge: 10 * minute,
    [customFetch]: fetchKeySet,
  });

  const key: JWTVerifyGetKey = async (header, token) => {
    try {
      return await keySet(header, token);
    } catch (error) {
      if (isVerdict(error)) throw error;
      const message = "The keys that sign access tokens cannot be had just now; try again soon";
      throw Object.assign(new DomainError("unavailable", message), { cause: error });
    }
  };

  const verify = async (token: string): Promise<JWTPayload | null> => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, key, {
        algorithms,
        issuer: settings.issuer,
        audience: settings.audience,
        clockTolerance: clockToleranceMs / 1000,
        currentDate: new Date(now()),
        requiredClaims: ["exp"],
      });
      return isAccessToken(protectedHeader.typ) && !("cnf" in payload) ? payload : null;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  };

  return async (token: string): Promise<Caller | null> => {
    const payload = isJwt(token) ? await verify(token) : null;
    const clientId = payload?.["client_id"] ?? payload?.["azp"];
    const userId = payload && userOf(payload, clientId, settings.appWithoutSub);
    if (!payload?.exp || typeof clientId !== "string" || userId === undefined) return null;
    if (userId !== null && !(await store.users.exists(userId))) return null;
    const application = await store.applications.find(clientId);
    if (!application || application.disabled) return null;
    const expiresAt = payload.exp * 1000 + clockToleranceMs;
    const scopes = scopesOf(payload);
    return {
      application,
      tokenHash: null,
      grant: { applicationId: clientId, userId, scopes, expiresAt, isJwt: true },
    };
  };
}

export type PlatformJwtReader = ReturnType<typeof platformJwtReader>;

const jwtForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

function isJwt(token: string): boolean {
  return token.length <= maxTokenLength && jwtForm.test(token);
}

/** Errors that say something of the token, not of the fetch of the keys. */
function isVerdict(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

/**
 * RFC 9068, section 2.1, and also the usual `JWT` and none; but no token that was made for something else. A token
 * bound to a key (`cnf`) is none for the scheme Bearer (RFC 7800).
 */
function isAccessToken(typ: string | undefined): boolean {
  return typ === undefined || /^((application\/)?at\+)?jwt$/i.test(typ);
}

/**
 * The user's id; null for a token of the application itself, undefined for neither. An application is its own subject
 * (RFC 9068, section 2.2); a token that names none may be a user's whose name was left out.
 */
function userOf({ sub }: JWTPayload, clientId: unknown, appWithoutSub: boolean): number | null | undefined {
  if (sub === clientId || (sub === undefined && appWithoutSub)) return null;
  const id = typeof sub === "string" && /^[1-9][0-9]{0,15}$/.test(sub) ? Number(sub) : Number.NaN;
  return id <= maxId ? id : undefined;
}

/** Those of its scopes that are scopes here (RFC 9068, section 2.2.3); the platform may have more. */
function scopesOf({ scope }: JWTPayload): readonly Scope[] {
  if (typeof scope !== "string") return [];
  return [...new Set(scope.split(" ").flatMap((word) => parseScopes(word) ?? []))];
}

/** Only from the address itself and of a bounded size. */
async function fetchKeySet(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...options, redirect: "error" });
  const bytes = await readBytes(response, maxKeySetBytes);
  return new Response(Buffer.from(bytes), { status: response.status });
}
