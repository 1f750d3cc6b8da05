import { urlOf } from "../api/http/server.ts";
import { newWebhookSecret } from "../delivery/signature.ts";
import type { Store } from "../domain/store.ts";
import { isoTime } from "../domain/time.ts";
import type { Config } from "../server/settings/config.ts";

/** Adds the setting by which owners of applications sign in to the portal, unless it is given. */
export function withOwnerLogin(config: Config, applicationId: string): Config {
  return config.portal && config.portalLogin === null ? { ...config, portalLogin: applicationId } : config;
}

/** Returns the redirect URI of the portal; null when the port is not known yet. */
function redirectUri({ publicUrl, host, port, tlsCert }: Config, url: string | null): string | null {
  const base = publicUrl ?? url ?? (port === 0 ? null : urlOf(host, port, tlsCert !== null));
  return base === null ? null : `${base}/portal/signed-in`;
}

/**
 * Creates the application that owners use to sign in, or updates its redirect URI to the address of the server. Returns
 * whether it was created.
 * @param url of the server; null before it listens
 */
export async function keepOwnerLogin(
  store: Store,
  config: Config,
  applicationId: string,
  { url, now }: { readonly url: string | null; readonly now: number },
): Promise<boolean> {
  if (config.portalLogin !== applicationId) return false;
  const uri = redirectUri(config, url);
  const redirect_uris = uri === null ? [] : [uri];
  const known = await store.applications.find(applicationId);
  if (known) {
    if (uri !== null && !known.redirect_uris.includes(uri))
      await store.applications.update(applicationId, { redirect_uris }, now);
    return false;
  }
  await store.applications.create({
    id: applicationId,
    name: "Developer portal",
    client_type: "public",
    delivery: "webhook",
    webhook_url: null,
    webhook_secret: newWebhookSecret(),
    scopes: ["users:read"],
    redirect_uris,
    rate_limit: null,
    subscription_limit: null,
    created_at: isoTime(now),
    updated_at: isoTime(now),
    client_secret_hash: null,
  });
  return true;
}
