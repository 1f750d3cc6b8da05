import { expect, test } from "bun:test";
import { askingAgain, request } from "../../src/cli/calls/http.ts";
import { errorOf } from "../../src/client/http.ts";
import { ownListener } from "../support/listener.ts";
import { RunningCommand, run } from "../support/process.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { adminKey, testServer } from "../support/server.ts";

const server = await testServer({ users });

/** A proxy in front of a listener that can answer 502 for a while: until `isAlone` is false, or for some requests. */
function proxyOf(listener: string, refusals = Number.POSITIVE_INFINITY) {
  const proxy = {
    isAlone: false,
    refused: 0,
    url: "",
  };
  const bun = ownListener((request) => {
    const { pathname, search } = new URL(request.url);
    if (!proxy.isAlone || proxy.refused >= refusals) return fetch(listener + pathname + search, request);
    proxy.refused++;
    return new Response("<html>Bad Gateway</html>", { status: 502, headers: { "retry-after": "0" } });
  });
  proxy.url = bun.url;
  return proxy;
}

async function follows(whose: "own" | "all"): Promise<void> {
  const app = await server.application({ delivery: "stream" });
  await subscribe(server, app, ["channel.followed"]);
  const proxy = proxyOf(whose === "own" ? server.publicUrl : server.adminUrl);
  const env = whose === "own" ? { ONAIR_TOKEN: app.token } : { ONAIR_ADMIN_KEY: adminKey };
  const filter = whose === "own" ? [] : ["--application", app.id];
  const args = ["deliveries", "list", "--follow", "--json", "--url", proxy.url, ...filter];
  const follower = new RunningCommand(args, { env });
  await publish(server, event("channel.followed", { id: `before-${whose}` }));
  await follower.shows(`"event_id":"before-${whose}"`);
  proxy.isAlone = true;
  await follower.shows("trying again every second");
  await publish(server, event("channel.followed", { id: `after-${whose}` }));
  proxy.isAlone = false;
  await follower.shows(`"event_id":"after-${whose}"`);
  expect(follower.output.match(/trying again every second/g)).toHaveLength(1);
  expect(await follower.end()).toBe(0);
}

test("deliveries list --follow continues when the server is back, for a developer and for an operator", async () => {
  await Promise.all([follows("own"), follows("all")]);
});

test("listen waits for the server to start, and Ctrl-C ends the wait", async () => {
  const app = await server.application({ delivery: "stream" });
  const busy = { status: 503, headers: { "retry-after": "30" } };
  const never = ownListener(() => new Response("", busy));
  const waiting = new RunningCommand(["listen", "--url", never.url, "--token", app.token]);
  // At least as long as asked for, and up to a tenth longer.
  await waiting.shows(/answered 503; trying again in 3[0-3] s/);
  expect(await waiting.end()).toBe(0);

  const proxy = proxyOf(server.publicUrl, 2);
  proxy.isAlone = true;
  const listener = new RunningCommand(["listen", "--url", proxy.url, "--token", app.token]);
  await listener.shows("answered 502; trying again in 0 s");
  await listener.shows("Listening to");
  expect(await listener.end()).toBe(0);
});

test("replay --wait prints the replay's id, and continues when the server is back", async () => {
  const id = "01KATHZX5M9S3E6R8B2D4F7G1H";
  const states = [502, "running", 502, 502, 502, 502, 502, 502, 502, "completed"];
  const fake = ownListener(({ method }) => {
    const state = method === "POST" ? "running" : states.shift();
    if (typeof state === "number")
      return new Response("", { status: state, headers: { "retry-after": "0" } });
    const counts = { progress: 0, matched: 1, queued: 0, skipped: {}, dry_run: false };
    return Response.json({ data: { id, state, ...counts }, message: "OK" });
  });
  const { code, stderr, stdout } = await run(
    ["deliveries", "replay", "--since", "1h", "--wait", "--url", fake.url, "--token", "x"],
    {},
  );
  expect([code, stdout]).toEqual([0, expect.stringContaining("completed")]);
  expect(stderr).toContain(`The replay ${id} is running, and continues after Ctrl-C.`);
  expect(states).toEqual([]);
});

test("a server that accepts a request and never answers causes a timeout", async () => {
  const silent = ownListener(() => new Promise<Response>(() => {}));
  await expect(request(silent.url, {}, 50)).rejects.toThrow(
    `${silent.url} cannot be reached: nothing answered in time (0.05 s)`,
  );
  const stop = new AbortController();
  const stopped = request(silent.url, { signal: stop.signal }, 60_000);
  stop.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
});

test("the upload of a stream may take longer than that timeout", async () => {
  const reader = ownListener(async (one) => new Response(await one.text()));
  async function* slowly() {
    for (const part of ["one ", "after ", "another"]) {
      await Bun.sleep(30);
      yield new TextEncoder().encode(part);
    }
  }
  const answer = await request(reader.url, { method: "POST", body: slowly() }, 20);
  expect(await answer.text()).toBe("one after another");
});

test("control characters in the answer of a foreign server do not reach the terminal", async () => {
  const message = "\u001b]0;title\u0007\u009b2J\u202ered";
  const foreign = ownListener(({ url }) =>
    url.includes("deliveries") ? Response.json({ message }, { status: 400 }) : new Response(message),
  );
  for (const command of [
    ["deliveries", "list", "--token", "t"],
    ["app", "show", "--token", "t"],
    ["apps", "list"],
  ]) {
    const { stdout, stderr } = await run([...command, "--url", foreign.url], {
      env: { ONAIR_ADMIN_KEY: adminKey },
    });
    expect([command, stdout + stderr]).not.toEqual([command, ""]);
    expect([command, stdout + stderr]).toEqual([command, expect.not.stringMatching(/[^\P{Cc}\n]|\u202e/u)]);
  }
});

const answer = async (status: number) => {
  throw await errorOf(new Response("busy", { status }));
};

test.each([429, 502, 503, 504, 522])(
  "status %d means that the server is away, so the command asks again",
  async (status) => {
    const unlessAway = askingAgain();
    expect(await unlessAway(() => answer(status))).toBeNull();
    expect(await unlessAway(async () => "back")).toBe("back");
  },
);

test.each([400, 401, 404, 500, 501])(
  "status %d is an answer of the server, so the command ends",
  async (status) => {
    await expect(askingAgain()(() => answer(status))).rejects.toThrow(`The answer was ${status}`);
  },
);
