/*
 * A thread that serves the public listener beside the main thread, with all that this takes of its own: a connection to
 * read from the database, ready answers, remembered callers, the ranking, event streams.
 */
import "../production.ts";
import { catalogueOf, eventTypeOf, type NewEventType } from "../../domain/events/registered.ts";
import { connectEngine } from "../../engine/thread.ts";
import { RankingView } from "../../ranking/ranking.ts";
import { type GivenStandings, SharedStandings } from "../../ranking/shared.ts";
import { runPromptly } from "../../threads/promptly.ts";
import { runThread } from "../../threads/run.ts";
import { Tally } from "../../wire/tally.ts";
import { Traffic } from "../traffic.ts";
import { publicServer } from "./server.ts";
import type { PublicThreadStart } from "./threads.ts";

runPromptly();

runThread<PublicThreadStart>(async ({ start, link, log }) => {
  const { settings, memory } = start;
  const engine = connectEngine(start.engine, settings.data);
  const standings = new SharedStandings(memory.holding, Date.now);
  const ranking = new RankingView(standings);
  const catalogue = await catalogueOf(await engine.store.eventTypes.all());
  const server = await publicServer({
    settings,
    engine,
    ranking,
    catalogue,
    memory,
    traffic: new Traffic(start.counted.traffic),
    tally: new Tally(start.counted.tally),
    threads: start.threads,
    places: {
      take: (owner) => link.call("take", owner),
      leave: (owner) => link.tell("leave", owner),
    },
    log,
    now: Date.now,
  });
  /** One after the other, because the first type takes a while to compile. */
  let changing = Promise.resolve();
  const inTurn = (change: () => void | Promise<void>) => {
    changing = changing.catch(() => {}).then(change);
    return changing;
  };
  return {
    prepare: (given: GivenStandings) => standings.prepare(given),
    putCategories: ranking.putCategories.bind(ranking),
    removeCategories: ranking.removeCategories.bind(ranking),
    putEventType: (type: NewEventType) => inTurn(async () => catalogue.put(await eventTypeOf(type))),
    removeEventType: (name: string, version: number) => inTurn(() => catalogue.remove(name, version)),
    listen: (port: number) => void server.listen({ port, reusePort: true }),
    async stop(graceMs: number) {
      await server.stop(graceMs);
      await engine.stop();
      await log.flush();
    },
  };
});
