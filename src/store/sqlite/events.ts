import type { Database } from "bun:sqlite";
import type { BunSQLiteDatabase } from "drizzle-orm/bun-sqlite";
import type { NewEvent } from "../../domain/deliveries.ts";
import { DomainError, inOneLine } from "../../domain/errors.ts";
import { BatchRefused } from "../batch.ts";
import type { EventStore, StoredEvent } from "../events.ts";
import { joinedEvents } from "../rows/stored-events.ts";
import type { Commit } from "./database/commit.ts";
import type { DataSize } from "./database/data-size.ts";
import { eventFanOut } from "./deliveries/fan-out.ts";
import type { DeliveryModes } from "./deliveries/modes.ts";
import type { StagedEvents } from "./deliveries/staged.ts";

export function eventStore(
  db: Database,
  orm: BunSQLiteDatabase,
  commit: Commit,
  modes: DeliveryModes,
  staged: StagedEvents,
  size: Pick<DataSize, "fullError">,
): EventStore {
  const publish = eventFanOut(db, orm, modes, staged);

  const publishAll = (all: readonly NewEvent[], reserveSlot: (applicationId: string) => boolean) => {
    const published: StoredEvent[] = [];
    const transaction = { together: all.length, fullError: size.fullError() };
    const refusals = all.map((event) => {
      try {
        published.push(publish(event, reserveSlot, transaction));
        return null;
      } catch (error) {
        if (!(error instanceof DomainError) || error.code === "unavailable") throw error;
        return inOneLine(error);
      }
    });
    if (refusals.some((refusal) => refusal !== null)) throw new BatchRefused(refusals);
    return joinedEvents(published);
  };

  return {
    publish: (event, reserveSlot) =>
      commit((together) => publish(event, reserveSlot, { together, fullError: size.fullError() }), true),
    publishAll: (all, reserveSlot) => commit(() => publishAll(all, reserveSlot), true),
  };
}
