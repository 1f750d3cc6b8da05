import type { Role } from "../../domain/operator-keys.ts";
import type { TrustedProxies } from "../../proxies.ts";
import { listener } from "../server.ts";
import { type GateOptions, operatorGate } from "./access.ts";
import { knownHosts, requireKnownHost } from "./hosts.ts";

export interface AdminListenerOptions extends GateOptions {
  /** Proxies in front, whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: TrustedProxies | null;
  /** Names by which it is known, beside `localhost` and addresses. */
  readonly hosts?: readonly string[];
}

/** The listener of the platform's own backend: a route says `roles: […]` to need a key with one of these roles. */
export function adminListener({ trustedProxies = null, hosts = [], ...options }: AdminListenerOptions) {
  const admit = operatorGate(options);
  const isKnownHost = knownHosts(hosts);
  return listener({ log: options.log, headers: {}, trustedProxies })
    .onRequest(({ exchange, request }) =>
      requireKnownHost(isKnownHost, exchange.path, request.headers.get("host")),
    )
    .macro({
      // At the transform stage, because everything later comes after validation: 401 and 403 go before 400.
      roles: (allowed: readonly Role[]) => ({
        transform: ({ exchange, request }) => admit(exchange, request, allowed),
      }),
    });
}

export type AdminListener = ReturnType<typeof adminListener>;

/** Bodies of the admin API other than NDJSON. */
export const adminBodyBytes = 256 * 1024;
