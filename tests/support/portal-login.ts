import { loginPage } from "../../src/dev/sign-in.ts";
import type { NewApplication } from "../../src/domain/applications.ts";
import type { Store } from "../../src/domain/store.ts";
import { testListener } from "./listener.ts";
import { adminKey, type TestServer, testServer } from "./server.ts";

export const portalLogin = "01KATHZX5M9S3E6R8B2D4F7G1H";

/** Users of the platform. */
export const people = [1001, 1002].map((id) => ({ id, username: `owner_${id}` }));

/**
 * At the top of a file: a server where owners of applications sign in to the portal through the platform's login page.
 */
export async function portalLoginServer(): Promise<{ server: TestServer; loginUrl: string }> {
  let server: TestServer | null = null;
  const page = loginPage({
    adminUrl: () => server?.adminUrl ?? "",
    adminKey,
    people: people.map((user) => ({ user: { display_name: user.username, ...user } }) as never),
  });
  const loginUrl = `${testListener(page).url}/login`;
  const args = ["--portal", "--portal-login", portalLogin, "--login-url", loginUrl];
  const portal: NewApplication = {
    id: portalLogin,
    name: "Developer portal",
    client_type: "public",
    delivery: "webhook",
    webhook_url: null,
    webhook_secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
    scopes: ["users:read"],
    redirect_uris: [],
    rate_limit: null,
    subscription_limit: null,
    created_at: "2026-01-14T16:00:00.000Z",
    updated_at: "2026-01-14T16:00:00.000Z",
    client_secret_hash: null,
  };
  const prepare = (store: Store) => store.applications.create(portal);
  server = await testServer({ args, users: people, prepare });
  const redirect_uris = [`${server.publicUrl}/portal/signed-in`];
  await server.app.store.applications.update(portalLogin, { redirect_uris }, Date.now());
  return { server, loginUrl };
}
