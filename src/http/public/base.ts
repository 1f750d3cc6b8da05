import type { Catalogue } from "../../domain/events/catalogue.ts";
import type { Scope } from "../../domain/tokens.ts";
import type { Log } from "../../log.ts";
import type { TrustedProxies } from "../../proxies.ts";
import type { Store } from "../../store/store.ts";
import { type Access, admit, admitAnyone } from "../auth.ts";
import type { Exchange } from "../exchange.ts";
import { listener } from "../server.ts";
import { Traffic } from "../traffic.ts";
import type { Profiles } from "./profiles.ts";

/** What the routes of the public listener are made from. */
export interface PublicDeps {
  readonly store: Store;
  readonly access: Access;
  readonly catalogue: Catalogue;
  /** To be told of every change of a user. */
  readonly profiles: Profiles;
  readonly log: Log;
  /** Proxies in front, whose `X-Forwarded-For` is believed; none where left out. */
  readonly trustedProxies?: TrustedProxies | null;
  /** Where requests are counted. */
  readonly traffic?: Traffic;
  readonly now: () => number;
  /** Where the listener is reached from outside, without a trailing slash. */
  readonly publicUrl: () => string;
  /** The platform's login and consent page; null: users cannot log in. */
  readonly loginUrl: string | null;
}

const exposed = [
  "X-Request-Id",
  "RateLimit-Limit",
  "RateLimit-Remaining",
  "RateLimit-Reset",
  "Retry-After",
  "ETag",
  "WWW-Authenticate",
  "Onair-Subscriptions-Used",
  "Onair-Subscriptions-Limit",
  "Onair-Search-Complete",
];

/** Browsers of any origin may call the API and read these headers; cookies are never involved. */
const crossOrigin = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposed.join(", "),
};

export const preflight = {
  "access-control-allow-headers": "Authorization, Content-Type, If-None-Match, Last-Event-ID, X-Request-Id",
  "access-control-max-age": "86400",
};

/**
 * The listener with its gate: a route says `access: "users:read"` or `access: "anyone"`. Without that it is limited by
 * address, as is a path that does not exist; only `access: "unlimited"` is not.
 */
export function publicListener(options: Pick<PublicDeps, "access" | "log" | "trustedProxies" | "traffic">) {
  const { access, log, trustedProxies = null, traffic = new Traffic() } = options;
  const gate = (exchange: Exchange) => admitAnyone(access, exchange);
  return listener({ log, headers: crossOrigin, trustedProxies, traffic, gate }).macro({
    // At the transform stage, because everything later comes after validation: 401 and 403 go before 400.
    access: (to: Scope | "anyone" | "unlimited") => ({
      transform({ exchange, request }) {
        if (to === "anyone") return admitAnyone(access, exchange);
        if (to !== "unlimited") return admit(access, exchange, request, to);
        exchange.isAdmitted = true;
      },
    }),
  });
}

export type PublicListener = ReturnType<typeof publicListener>;
