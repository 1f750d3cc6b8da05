import { roles as allRoles } from "../../domain/operator-keys.ts";
import { type AdminErrorCode, adminErrorResponses, adminHeaders } from "./admin.ts";
import introduction from "./assets/admin-introduction.md" with { type: "text" };
import { complete, type ListenerRules, type Operation, type WrittenDocument } from "./complete.ts";
import { operatorWebhooks } from "./webhooks.ts";

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

/** Returns the OpenAPI document of the admin listener at `url`, as JSON. */
export function adminDocument(written: WrittenDocument, url: string): string {
  const document = complete(written, rules, {
    title: "On Air Admin",
    summary: "The API with which a platform reports its data and manages applications.",
    introduction,
    url,
    webhooks: operatorWebhooks("Operations"),
  });
  return JSON.stringify(document);
}
