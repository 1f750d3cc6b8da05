import { roles as allRoles } from "../../domain/operator-keys.ts";
import { type AdminErrorCode, statusOf } from "../http/errors.ts";
import {
  challenge,
  contentRange,
  type Json,
  notKept,
  operatorScheme,
  requestIdHeader,
  retryAfter,
} from "../http/openapi.ts";
import introduction from "./assets/admin-introduction.md" with { type: "text" };
import {
  commonSamples,
  complete,
  type ErrorSample,
  errorResponder,
  errorSchema,
  type ListenerRules,
  type Operation,
  type WrittenDocument,
} from "./document.ts";
import { operatorWebhooks } from "./webhooks.ts";

/*
 * The OpenAPI document of the admin listener: its errors, tags and security scheme. Loaded when the document is first
 * requested.
 */

/** The headers of every response of the admin listener. */
const adminHeaders: Json = { ...requestIdHeader, ...notKept };

/** An example of each error. */
const samples: Readonly<Record<AdminErrorCode, ErrorSample>> = {
  ...commonSamples,
  invalid_parameter: {
    message: "name must be at least 1 character",
    errors: [{ in: "body", field: "name", message: "must be at least 1 character" }],
  },
  missing_token: { message: "This needs the operator key: Authorization: Bearer <key>" },
  invalid_token: { message: "The operator key is wrong, revoked or expired" },
  insufficient_role: { message: "This needs a key with the role operator; this one is a reader" },
  unknown_host: {
    message:
      "This listener is not known by the name in the Host header. Add that name to --admin-hosts (ONAIR_ADMIN_HOSTS), or use an address",
  },
  rate_limited: {
    message: "Too many wrong operator keys from this address (at most 20 a minute); try again in 3 seconds",
  },
  empty_snapshot: {
    message:
      "The snapshot has no line; nothing was changed. To end one livestream: DELETE /admin/v1/livestreams/{channel_id}",
  },
  confirmation_required: {
    message:
      "The snapshot would end 3,990 of 4,000 livestreams, more than 50 %, so it has ended none. If it is complete, send it again with confirm=true. Its valid lines (10) are stored.",
    errors: [{ in: "body", field: "line 11", message: "The line is not valid JSON" }],
  },
  user_not_found: { message: "There is no user with this id" },
  not_found: { message: "There is no application with this id" },
  conflict: { message: 'username "one" is taken by user 1' },
  body_too_large: { message: "The body must be at most 262144 bytes" },
  range_not_satisfiable: { message: "The file has 241754112 bytes" },
};

const statuses: Readonly<Record<number, string>> = {
  400: "The request is invalid. `errors` lists all invalid fields.",
  401: "The operator key is missing, wrong, revoked or expired.",
  403: "The role of the key does not permit this operation.",
  404: "The object does not exist.",
  409: "The request conflicts with the current state. `message` has the reason.",
  413: "The body is too large.",
  415: "The media type or content encoding of the body is not supported.",
  416: "The requested range does not exist.",
  421: "The host name in the `Host` header is not accepted; `--admin-hosts` adds names.",
  429: "This address has sent too many wrong keys. `Retry-After` has the seconds until the next one is checked. Valid keys are always accepted.",
  500: "An internal error occurred. The server's log has its cause, under the request id.",
  503: "The server is temporarily unavailable, for example because it is shutting down or the disk is full.",
};

const headersOf: Partial<Record<AdminErrorCode, Json>> = {
  missing_token: challenge,
  invalid_token: challenge,
  rate_limited: retryAfter,
  unavailable: retryAfter,
  range_not_satisfiable: contentRange,
};

/** Returns the responses of the admin listener for error codes, by status. */
const adminErrorResponses = errorResponder({
  samples,
  statuses,
  headers: adminHeaders,
  headersOf,
  schema: errorSchema(Object.keys(samples)),
  statusOf: (code) => statusOf[code],
});

const rules: ListenerRules = {
  headers: adminHeaders,
  errorResponses: (operation) => adminErrorResponses(errorsOf(operation)),
};

function errorsOf({ hasParameters, body, roles, codes }: Operation): AdminErrorCode[] {
  const errors: AdminErrorCode[] = [];
  // Also without parameters: an invalid Host header is refused before routing.
  if (hasParameters || body === "json" || !roles) errors.push("invalid_parameter");
  if (body === "json") errors.push("invalid_json", "body_too_large", "unsupported_media_type");
  if (roles) errors.push("missing_token", "invalid_token", "rate_limited", "unknown_host");
  if (roles && roles.length < allRoles.length) errors.push("insufficient_role");
  return [...errors, ...(codes as readonly AdminErrorCode[]), "internal_error", "unavailable"];
}

/** Tags of the operations in the order in which they are shown. */
const tags = [
  { name: "Users", description: "Profiles of the platform's users." },
  { name: "Categories", description: "Categories of livestreams." },
  {
    name: "Channels and livestreams",
    description: "Channels of users, and current livestreams with their viewers.",
  },
  {
    name: "Events",
    description: "Events of the platform, which are delivered to subscribers, and event types.",
  },
  {
    name: "Deliveries",
    description: "The log of deliveries with their attempts, retries, replays and endpoints.",
  },
  { name: "Applications", description: "Applications of third parties, with their secrets and limits." },
  { name: "Tokens", description: "Access tokens of applications." },
  {
    name: "Operations",
    description: "Notices, audit log, statistics, settings and storage of the server.",
  },
  { name: "Sign-in", description: "Login requests of applications, and consents of users." },
  { name: "Backups", description: "Copies of the whole database, made while the server runs." },
  { name: "Keys", description: "Operator keys of this API, each with a role." },
  { name: "Health", description: "For monitoring. Needs no key." },
];

const securitySchemes: Json = {
  [operatorScheme]: {
    type: "http",
    scheme: "bearer",
    description:
      "An operator key: `ONAIR_ADMIN_KEY`, the key that the first start showed, or one created later. Each operation names the roles that may call it.",
  },
};

/** Returns the OpenAPI document of the admin listener at `url`, as JSON. */
export function adminDocument(written: WrittenDocument, url: string): string {
  const document = complete(written, rules, {
    api: "admin",
    title: "On Air Admin",
    summary: "The API with which a platform reports its data and manages applications.",
    introduction,
    url,
    tags,
    securitySchemes,
    webhooks: operatorWebhooks("Operations"),
  });
  return JSON.stringify(document);
}
