import { createHash, randomBytes } from "node:crypto";
import { day } from "./time.ts";

export const scopes = ["users:read", "events:subscribe"] as const;
export type Scope = (typeof scopes)[number];

/** Other spellings that are taken as the same scope. */
const aliases: Readonly<Record<string, Scope>> = { "user:read": "users:read" };

export const appTokenLifetimeMs = 60 * day;

/** Who may do what: an application, on behalf of a user where `userId` is set. */
export interface Grant {
  readonly applicationId: string;
  readonly userId: number | null;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Reads a scope parameter (RFC 6749, section 3.3). null: it names one that does not exist. */
export function parseScopes(text: string): readonly Scope[] | null {
  const found = new Set<Scope>();
  for (const word of text.split(" ").filter((part) => part !== "")) {
    const scope =
      scopes.find((known) => known === word) ?? (Object.hasOwn(aliases, word) ? aliases[word] : undefined);
    if (!scope) return null;
    found.add(scope);
  }
  return [...found];
}

/** 256 random bits behind a prefix by which a leaked secret is recognised: `onair_at_…`. */
export function newSecret(prefix: "onair_at_" | "onair_cs_" | "onair_admin_"): string {
  return prefix + randomBytes(32).toString("base64url");
}

/** What is kept of a secret. Plain SHA-256 suffices, because the secret has 256 random bits. */
export function secretHash(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
