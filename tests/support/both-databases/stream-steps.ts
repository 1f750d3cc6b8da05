import { hour, isoTime, minute } from "../../../src/domain/time.ts";
import { streamPath } from "../event-stream.ts";
import { ownToken, scopes } from "./application-steps.ts";
import { type Step, some } from "./world.ts";

/* Event streams, and test webhooks. */

const stream: Step = async (world) => {
  const caller = world.caller();
  if (world.chance(0.6)) {
    const body = { delivery: world.pick(["both", "both", "stream"]), disabled: false, scopes };
    await world.call({ method: "PATCH", path: `/admin/v1/applications/${caller.id}`, body });
    await ownToken(world, caller);
  }
  const token = world.chance(0.85) ? caller.tokens.at(-1) : world.token();
  const positions = `positions of ${caller.id}`;
  const agoMs = world.pick([-minute, 0, minute, hour, 2 * world.pair.age.allMs, 2 * world.pair.age.allMs]);
  const after = isoTime(world.pair.clock.now() - agoMs);
  const { text } = await world.call({
    method: "GET",
    path: `${streamPath}${world.chance(0.8) ? `?after=${after}` : ""}`,
    token,
    headers: some(world, { "last-event-id": world.known(positions) }, 0.3),
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
  [6, stream],
  [1, testWebhook],
];
