import introduction from "./assets/public-introduction.md" with { type: "text" };
import { complete, type ListenerRules, type Operation, type WrittenDocument } from "./complete.ts";
import { exampleUrl } from "./declared.ts";
import { isOAuthError, oauthErrorResponses } from "./oauth-errors.ts";
import { type PublicErrorCode, publicErrorResponses, publicHeaders } from "./public-errors.ts";
import { applicationWebhooks } from "./webhooks.ts";

const rules: ListenerRules = {
  headers: publicHeaders,
  errorResponses(operation) {
    const { codes, body } = operation;
    const failures = codes.filter(isOAuthError);
    if (failures.length > 0) return oauthErrorResponses(failures, body === "form");
    return publicErrorResponses(errorsOf(operation));
  },
};

function errorsOf({ hasParameters, body, security, codes }: Operation): PublicErrorCode[] {
  const errors: PublicErrorCode[] = [];
  if (hasParameters || body) errors.push("invalid_parameter");
  if (body) errors.push("invalid_json", "body_too_large", "unsupported_media_type");
  if (security.length > 0) errors.push("missing_token", "invalid_token", "insufficient_scope");
  errors.push(...(codes as readonly PublicErrorCode[]));
  return [...errors, "rate_limited", "internal_error", "unavailable"];
}

/** Returns the OpenAPI document of the public listener at `url`, as JSON. */
export function publicDocument(written: WrittenDocument, url: string): string {
  const document = complete(written, rules, {
    title: "On Air",
    summary: "The public developer API of a live-streaming platform.",
    introduction,
    url,
    externalDocs: { description: "Guides", url: `${url}/docs` },
    webhooks: applicationWebhooks("Webhooks"),
  });
  return JSON.stringify(document).replaceAll("{base_url}", url).replaceAll(exampleUrl, url);
}
