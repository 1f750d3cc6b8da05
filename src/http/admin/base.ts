import { bearer } from "@elysiajs/bearer";
import type { Role } from "../../domain/operator-keys.ts";
import type { TrustedProxies } from "../../proxies.ts";
import { tokenOf } from "../auth.ts";
import { type GateContext, type InputSchemas, opaque, routeInput } from "../input.ts";
import type { AdminErrorCode } from "../openapi/admin-errors.ts";
import { operatorScheme } from "../openapi/admin-reference.ts";
import { type DescribedRoute, describeRoute, errorCodes } from "../openapi/declared.ts";
import { listener } from "../server.ts";
import { type GateOptions, operatorGate } from "./access.ts";
import { knownHosts, requireKnownHost } from "./hosts.ts";

/** Bodies of the admin API other than NDJSON. */
export const adminBodyBytes = 256 * 1024;

/** The names of the query and body parameters that the bearer plugin reads keys from: nobody can guess them. */
const unguessable = crypto.randomUUID();

interface AdminListenerOptions extends GateOptions {
  /** Proxies in front, whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: TrustedProxies | null;
  /** Names by which it is known, beside `localhost` and addresses. */
  readonly hosts?: readonly string[];
}

/** The listener of the platform's own backend: a route says `roles: […]` to need a key with one of these roles, or `keyless: true`. */
export function adminListener({ trustedProxies = null, hosts = [], ...options }: AdminListenerOptions) {
  const admit = operatorGate(options);
  const isKnownHost = knownHosts(hosts);
  return (
    listener({ log: options.log, headers: {}, trustedProxies })
      .onRequest(({ requestContext, request }) =>
        requireKnownHost(isKnownHost, requestContext.path, request.headers.get("host")),
      )
      .use(bearer({ extract: { header: "Bearer", query: unguessable, body: unguessable } }))
      .macro("roles", (allowed: readonly Role[]) => {
        const input = routeInput(adminBodyBytes);
        return {
          introspect(route: InputSchemas & DescribedRoute) {
            input.introspect(route);
            describeRoute(route, allowedTo(allowed, route));
          },
          // At the transform stage, because everything later comes after validation: 401 and 403 go before 400.
          transform: opaque(async (context: GateContext) => {
            admit(context.requestContext, tokenOf(context.bearer, context.headers["authorization"]), allowed);
            await input.read(context);
          }),
        };
      })
      // Open to requests without a key, such as health checks.
      .macro("keyless", (_: true) => {
        const input = routeInput(adminBodyBytes);
        return {
          introspect(route: InputSchemas & DescribedRoute) {
            input.introspect(route);
            describeRoute(route, { security: [] });
          },
          transform: opaque(async (context: GateContext) => input.read(context)),
        };
      })
      // Errors of a route beyond those that every route of its kind has.
      .macro("errors", (codes: readonly AdminErrorCode[]) => ({
        introspect: (route: DescribedRoute) => describeRoute(route, { [errorCodes]: codes }),
      }))
  );
}

/** What the document says of who may call a route. */
function allowedTo(allowed: readonly Role[], { detail }: DescribedRoute) {
  const names = allowed.map((role) => `\`${role}\``);
  const last = names.pop() ?? "";
  const sentence = `For keys with the role ${names.length > 0 ? `${names.join(", ")} or ${last}` : last}.`;
  return {
    security: [{ [operatorScheme]: [] }],
    "x-roles": allowed,
    description: `${detail?.["description"]}\n\n${sentence}`,
  };
}

export type AdminListener = ReturnType<typeof adminListener>;
