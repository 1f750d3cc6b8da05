import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { DomainError } from "../../domain/errors.ts";
import { idIn } from "../../domain/ids.ts";
import type { Store } from "../../domain/store.ts";
import { minute, second } from "../../domain/time.ts";
import { parseScopes, type Scope } from "../../domain/tokens.ts";
import type { Caller } from "./context.ts";
import { readBytes } from "./input.ts";

/** The issuer and audience of the platform's access tokens, and the URL of their keys. */
interface PlatformJwtSettings {
  readonly jwksUrl: string;
  readonly issuer: string;
  readonly audience: string;
  /** Whether a token without `sub` belongs to the application itself; else it is refused. */
  readonly appWithoutSub: boolean;
}

interface PlatformJwtDeps {
  readonly settings: PlatformJwtSettings;
  readonly store: Pick<Store, "applications" | "users">;
  readonly now: () => number;
  /** The least time between two fetches of the keys that an unknown key id causes. */
  readonly cooldownMs?: number;
}

/** Asymmetric algorithms only: neither `none` nor HMAC. */
const algorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

/** The tolerated difference between the clocks of the platform and the server. */
const clockToleranceMs = minute;
/** The time limit of a fetch of the key set. */
const fetchTimeoutMs = 5 * second;
const maxKeySetBytes = 256 * 1024;
const maxTokenLength = 8192;

/**
 * Verifies access tokens that are JWTs of the platform (RFC 9068) against its key set, which is fetched again after ten
 * minutes or for an unknown key. Returns null for an invalid token. Throws `unavailable` when the keys cannot be
 * fetched.
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
      const message = "The keys that verify access tokens cannot be fetched now; try again soon";
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

/** Whether an error concerns the token, not the fetch of the keys. */
function isVerdict(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}

/**
 * Accepts the types of RFC 9068, section 2.1, the usual `JWT`, and none; refuses tokens made for another purpose. A
 * token bound to a key (`cnf`, RFC 7800) is not a bearer token.
 */
function isAccessToken(typ: string | undefined): boolean {
  return typ === undefined || /^((application\/)?at\+)?jwt$/i.test(typ);
}

/**
 * The user's id; null for a token of the application itself; undefined for an invalid subject. The subject of an
 * application's own token is the application (RFC 9068, section 2.2); a token without subject may belong to a user
 * whose name was omitted.
 */
function userOf({ sub }: JWTPayload, clientId: unknown, appWithoutSub: boolean): number | null | undefined {
  if (sub === clientId || (sub === undefined && appWithoutSub)) return null;
  return (typeof sub === "string" ? idIn(sub) : null) ?? undefined;
}

/** The scopes of the token that On Air knows (RFC 9068, section 2.2.3). */
function scopesOf({ scope }: JWTPayload): readonly Scope[] {
  if (typeof scope !== "string") return [];
  return [...new Set(scope.split(" ").flatMap((word) => parseScopes(word) ?? []))];
}

/** Fetches the key set without redirects and with a size limit. */
async function fetchKeySet(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...options, redirect: "error" });
  const bytes = await readBytes(response, maxKeySetBytes);
  return new Response(Buffer.from(bytes), { status: response.status });
}
