import { expect, test } from "bun:test";
import { watchedStore } from "../../src/delivery/watched-store.ts";
import type { Application } from "../../src/domain/applications.ts";
import { DomainError } from "../../src/domain/errors.ts";
import { ownStore, storedApplication, storedAt } from "../support/store.ts";

test("when the removal of an application is interrupted, the dispatcher is notified that it is disabled", async () => {
  const { store } = await ownStore();
  const id = await storedApplication(store);
  const changes: (Application | null)[] = [];
  const dispatcher = {
    applicationChanged: (_: string, changed: Application | null) => void changes.push(changed),
    subscriptionsRemoved() {},
    sendNow() {},
  };
  const interrupted = {
    ...store.applications,
    async remove(_: string, now: number): Promise<never> {
      await store.applications.update(id, { disabled: true }, now);
      throw new DomainError("unavailable", "The disk is full");
    },
  };
  const watched = watchedStore({ ...store, applications: interrupted }, dispatcher);
  const removing = watched.applications.remove(id, storedAt);
  await expect(removing).rejects.toMatchObject({ code: "unavailable" });
  expect(changes).toMatchObject([{ id, disabled: true }]);
});
