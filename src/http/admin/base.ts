import { bearer } from "@elysiajs/bearer";
import type { Role } from "../../domain/operator-keys.ts";
import type { TrustedProxies } from "../../proxies.ts";
import { tokenOf } from "../auth.ts";
import { listener } from "../server.ts";
import { type GateOptions, operatorGate } from "./access.ts";
import { knownHosts, requireKnownHost } from "./hosts.ts";

/** The names of the query and body parameters that the bearer plugin reads keys from: nobody can guess them. */
const unguessable = crypto.randomUUID();

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
    .use(bearer({ extract: { header: "Bearer", query: unguessable, body: unguessable } }))
    .macro({
      // At the transform stage, because everything later comes after validation: 401 and 403 go before 400.
      roles: (allowed: readonly Role[]) => ({
        transform: ({ exchange, bearer, headers }) =>
          admit(exchange, tokenOf(bearer, headers["authorization"]), allowed),
      }),
    });
}

export type AdminListener = ReturnType<typeof adminListener>;

/** Bodies of the admin API other than NDJSON. */
export const adminBodyBytes = 256 * 1024;
