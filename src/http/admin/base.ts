import type { Role } from "../../domain/operator-keys.ts";
import type { TrustedProxies } from "../../proxies.ts";
import { listener } from "../server.ts";
import { type GateOptions, operatorGate } from "./access.ts";

export interface AdminListenerOptions extends GateOptions {
  /** Proxies in front, whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: TrustedProxies | null;
}

/** The listener of the platform's own backend: a route says `roles: […]` to need a key with one of these roles. */
export function adminListener({ trustedProxies = null, ...options }: AdminListenerOptions) {
  const admit = operatorGate(options);
  return listener({ log: options.log, headers: {}, trustedProxies }).macro({
    // At the transform stage, because everything later comes after validation: 401 and 403 go before 400.
    roles: (allowed: readonly Role[]) => ({
      transform: ({ exchange, request }) => admit(exchange, request, allowed),
    }),
  });
}

export type AdminListener = ReturnType<typeof adminListener>;

/** Bodies of the admin API other than NDJSON. */
export const adminBodyBytes = 256 * 1024;
