import { expect, test } from "bun:test";
import { builtInEventTypes } from "../../src/domain/events/catalogue.ts";
import { client, type ServerProcess, serve } from "../support/process.ts";
import { users } from "../support/real-data.ts";
import { Receiver } from "../support/receiver.ts";
import { json, temporaryDirectory } from "../support/server.ts";

const data = builtInEventTypes.find(({ name }) => name === "channel.followed")?.example;

/** Publishes from several publishers until the server is gone; gives the ids that were acknowledged. */
async function publishUntilDead(server: ServerProcess, round: number, acknowledged: string[]): Promise<void> {
  const { admin } = client(server);
  const publisher = async (name: number) => {
    for (let i = 0; ; i++) {
      const id = `round-${round}.${name}.${i}`;
      const event = { id, name: "channel.followed", version: 1, broadcaster_user_id: 1001, data };
      const response = await admin("POST", "/admin/v1/events", event).catch(() => null);
      if (response?.status !== 202) return;
      acknowledged.push(id);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, name) => publisher(name)));
}

test("kill -9 while events are published: every acknowledged one arrives, under one id, in an unbroken sequence", async () => {
  const directory = temporaryDirectory();
  const receiver = new Receiver();
  const args = ["--data", directory.path, "--allow-private-webhooks"];
  const acknowledged: string[] = [];
  let server = await serve(args);
  try {
    const { admin, api } = client(server);
    await admin("POST", "/admin/v1/users/batch", users.map((user) => JSON.stringify(user)).join("\n"));
    const created = await admin("POST", "/admin/v1/applications", { name: "Bot", webhook_url: receiver.url });
    const { client_id, client_secret } = await json<Record<string, string>>(created);
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret } as Record<
      string,
      string
    >);
    const answer = await fetch(`${server.publicUrl}/oauth/token`, { method: "POST", body: form });
    const { access_token } = await json<{ access_token: string }>(answer);
    const events = [{ name: "channel.followed", version: 1 }];
    await api("POST", "/public/v1/events/subscriptions", access_token, { events, broadcaster_user_id: 1001 });

    for (let round = 0; round < 5; round++) {
      const before = receiver.received.length;
      const publishing = publishUntilDead(server, round, acknowledged);
      // In the middle of the work, at another point each round.
      await receiver.arrived(before + 20 + round * 37);
      await server.end("SIGKILL");
      await publishing;
      server = await serve(args);
    }

    const arrived = new Map<string, Set<string>>();
    const sequences = new Map<number, string>();
    const missing = () => acknowledged.filter((id) => !arrived.has(id));
    for (let seen = 0; ; ) {
      for (const { headers } of receiver.received.slice(seen)) {
        const id = String(headers["onair-event-id"]);
        arrived.set(id, (arrived.get(id) ?? new Set()).add(String(headers["webhook-id"])));
        sequences.set(Number(headers["onair-sequence"]), id);
      }
      seen = receiver.received.length;
      if (missing().length === 0) break;
      await receiver.arrived(seen + 1);
    }
    expect(acknowledged.length).toBeGreaterThan(100);
    expect([...arrived.values()].every((ids) => ids.size === 1)).toBe(true);
    expect(sequences.size).toBe(arrived.size);
    expect([...sequences.keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: sequences.size }, (_, i) => i + 1),
    );
    expect(await server.end("SIGTERM")).toBe(0);
  } finally {
    await server.end("SIGKILL");
    await receiver.stop();
    directory.remove();
  }
}, 60_000);
