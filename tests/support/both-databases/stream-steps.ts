import { hour, isoTime, minute } from "../../../src/domain/time.ts";
import { streamPath } from "../event-stream.ts";
import { type Step, some } from "./world.ts";

/* Event streams, and test webhooks. */

const stream: Step = async (world) => {
  const caller = world.caller();
  if (world.chance(0.3)) {
    const body = { delivery: world.pick(["both", "stream"]), disabled: false };
    await world.call({ method: "PATCH", path: `/admin/v1/applications/${caller.id}`, body });
  }
  const token = world.chance(0.7) ? caller.tokens.at(-1) : world.token();
  const positions = `positions of ${caller.id}`;
  const after = isoTime(
    world.pair.clock.now() - world.pick([-minute, 0, minute, hour, 2 * world.pair.age.allMs]),
  );
  const { text } = await world.call({
    method: "GET",
    path: `${streamPath}${world.chance(0.6) ? `?after=${after}` : ""}`,
    token,
    headers: some(world, { "last-event-id": world.known(positions) }, 0.5),
  });
  world.see(
    positions,
    [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id),
  );
};

const testWebhook: Step = (world) => {
  const body = some(world, {
    event: world.pick(["channel.followed", "kicks.gifted", "raffle.won", "no.such"]),
    version: world.pick([1, 1, 2]),
    data: world.pick([{}, { winner: "a\u0000" }, { winner: 5 }]),
  });
  const path = `/public/v1/events/test${world.chance(0.3) ? "/stream" : ""}`;
  return world.call({ method: "POST", path, body, token: world.token() });
};

export const streamSteps: readonly (readonly [weight: number, step: Step])[] = [
  [4, stream],
  [1, testWebhook],
];
