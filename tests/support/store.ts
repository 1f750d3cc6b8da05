import { onTestFinished } from "bun:test";
import type { NewApplication } from "../../src/domain/applications.ts";
import { newId } from "../../src/domain/ids.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { Store } from "../../src/store/store.ts";
import { temporaryDirectory } from "./server.ts";

/** In `beforeEach` or a test: an empty store in a directory of its own, closed and removed after the test. */
export function emptyStore(): { readonly store: Store; readonly path: string } {
  const directory = temporaryDirectory();
  const store = openStore(directory.path);
  onTestFinished(async () => {
    await store.close();
    directory.remove();
  });
  return { store, path: directory.path };
}

/** Stores an application with a webhook, changed by these fields; gives its id. */
export async function storedApplication(store: Store, fields: Partial<NewApplication> = {}): Promise<string> {
  const at = "2026-01-14T16:00:00.000Z";
  const application: NewApplication = {
    id: newId(),
    name: "Test",
    client_type: "confidential",
    webhook_url: "https://receiver.test/",
    webhook_secret: "",
    scopes: [],
    redirect_uris: [],
    rate_limit: null,
    subscription_limit: null,
    created_at: at,
    updated_at: at,
    client_secret_hash: new Uint8Array(32),
    ...fields,
  };
  await store.applications.create(application);
  return application.id;
}
