import type { Role } from "../../domain/operator-keys.ts";
import type { TrustedProxies } from "../../proxies.ts";
import { headerBearer, tokenOf } from "../auth.ts";
import { asGate, type GateContext, type InputSchemas, routeInput } from "../input.ts";
import type { AdminErrorCode } from "../openapi/admin-errors.ts";
import { operatorScheme } from "../openapi/admin-reference.ts";
import { type DescribedRoute, describeRoute, errorCodes } from "../openapi/declared.ts";
import { listener } from "../server.ts";
import { type GateOptions, operatorGate } from "./access.ts";
import { knownHosts, requireKnownHost } from "./hosts.ts";

/** The size limit of JSON bodies in the admin API. */
export const adminBodyBytes = 256 * 1024;

interface AdminListenerOptions extends GateOptions {
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: TrustedProxies | null;
  /** Further host names that the listener accepts, besides `localhost` and IP addresses. */
  readonly hosts?: readonly string[];
}

/** The admin listener. Each route names the accepted roles with `roles: […]`, or needs no key with `keyless: true`. */
export function adminListener({ trustedProxies = null, hosts = [], ...options }: AdminListenerOptions) {
  const admit = operatorGate(options);
  const isKnownHost = knownHosts(hosts);
  return (
    listener({ log: options.log, headers: {}, trustedProxies })
      .onRequest(({ requestContext, request }) =>
        requireKnownHost(isKnownHost, requestContext.path, request.headers.get("host")),
      )
      .use(headerBearer())
      .macro("roles", (allowed: readonly Role[]) => {
        const input = routeInput(adminBodyBytes);
        return {
          introspect(route: InputSchemas & DescribedRoute) {
            input.introspect(route);
            describeRoute(route, allowedTo(allowed, route));
          },
          // At the transform stage: later stages run after validation, and 401 and 403 must come before 400.
          transform: asGate(async (context: GateContext) => {
            admit(context.requestContext, tokenOf(context.bearer, context.headers["authorization"]), allowed);
            await input.read(context);
          }),
        };
      })
      // For routes without a key, such as health checks.
      .macro("keyless", (_: true) => {
        const input = routeInput(adminBodyBytes);
        return {
          introspect(route: InputSchemas & DescribedRoute) {
            input.introspect(route);
            describeRoute(route, { security: [] });
          },
          transform: asGate(async (context: GateContext) => input.read(context)),
        };
      })
      // Documents further errors of a route.
      .macro("errors", (codes: readonly AdminErrorCode[]) => ({
        introspect: (route: DescribedRoute) => describeRoute(route, { [errorCodes]: codes }),
      }))
  );
}

/** The OpenAPI description of the roles that may call a route. */
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
