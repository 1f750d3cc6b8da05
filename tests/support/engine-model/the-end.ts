import type { DeliveryRecord } from "../../../src/domain/deliveries.ts";
import { hour, minute } from "../../../src/domain/time.ts";
import { ok } from "../dispatching.ts";
import { enable } from "./commands.ts";
import type { KnownDelivery, Platform } from "./platform.ts";
import { answerOf, promisedWaitsMs } from "./promises.ts";

/**
 * All receivers are well, nothing is held up, and enough time passes: then nothing waits, and the log says what was.
 */
export async function comesToItsEnd(on: Platform): Promise<void> {
  on.say("the end");
  on.process.gates.openAll();
  on.receivers.allWell();
  // By the schedule alone, and then what waits for disabled endpoints.
  await on.pass(31 * hour);
  on.check();
  for (const one of on.promises.applications.values()) {
    on.begun(enable(on, one), "enable");
    await on.settle();
  }
  await on.pass(31 * hour);
  on.check();
  const log = await on.log();
  const problems = [
    ...lost(on, log),
    ...missing(on, log),
    ...log.flatMap((one) => wrongEnd(on, one)),
    ...gaps(log),
    ...leftOver(on),
  ];
  on.promises.problems.push(...problems);
  on.check();
  // The next process has nothing to send.
  await on.restart("stop");
  const before = on.promises.attempts;
  await on.pass(minute);
  if (on.promises.attempts !== before) on.promises.problems.push("the next process sends something");
  on.check();
}

function lost(on: Platform, log: readonly DeliveryRecord[]): string[] {
  const counts = Map.groupBy(log, ({ event_id }) => event_id);
  return [...on.acknowledged]
    .filter(([id, deliveries]) => (counts.get(id)?.length ?? 0) !== deliveries)
    .map(([id]) => `deliveries of the event ${id} are missing`);
}

/** What no filter excludes has a delivery for each subscription. */
function missing(on: Platform, log: readonly DeliveryRecord[]): string[] {
  const made = new Set(log.map(({ event_id, subscription_id }) => `${event_id} ${subscription_id}`));
  return [...on.acknowledged.keys()].flatMap((event) =>
    on.promises.filtering
      .receiversOf(event)
      .filter(({ id }) => !made.has(`${event} ${id}`))
      .map(({ application }) => `the event ${event} has no delivery for ${application.id}`),
  );
}

/** Each has ended in a state for which there is a reason. */
function wrongEnd(on: Platform, record: DeliveryRecord): string[] {
  const known = on.promises.ofRecord(record);
  const { subscription, wasTaken, wasGone } = known;
  const { application } = subscription;
  const isRemoved = on.removed.includes(record);
  const made = record.attempts.length;
  const last = known.answered.at(-1);
  const wasTakenLast = last === answerOf({ outcome: ok.class, status: ok.status });
  // What an application had in memory when it was disabled has ended without its result.
  const mayDiffer = isRemoved || application.wasDisabled || application.wasStream;
  const ends = {
    delivered: mayDiffer ? wasTaken || application.wasStream : wasTakenLast,
    canceled: subscription.removal !== "none" || application.wasDisabled,
    expired: mayHaveExpired(record, known) || on.promises.droppedOf(application).has(record.event_id),
    failed: !wasTakenLast && (wasGone || made >= promisedWaitsMs.length + 1),
  };
  const name = `${application.id} ${subscription.id.slice(-3)} ${record.sequence}`;
  // What retention has removed is known as it was before, and may have ended in the same moment.
  const hasEnded =
    record.status === "pending" ? isRemoved && Object.values(ends).includes(true) : ends[record.status];
  const problems = hasEnded ? [] : [`${name} is ${record.status} at the end, after ${known.answered}`];
  const logged = record.attempts.map(answerOf);
  if (!mayDiffer && subscription.removal === "none") {
    if (logged.join() !== known.answered.join())
      problems.push(`${name} has ${logged} in the log, not ${known.answered}`);
    if (wasTakenLast && record.status !== "delivered" && on.promises.everAsked(known) === 0)
      problems.push(`${name} was taken, and is ${record.status}`);
  }
  if (made > promisedWaitsMs.length + 1 + on.promises.everAsked(known) + application.generations)
    problems.push(`${name} was attempted ${made} times`);
  return problems;
}

/** Whether its time was over when it ended, or would have been at its next attempt. */
function mayHaveExpired(
  { expires_at, finished_at, attempts }: DeliveryRecord,
  { lastFailure }: KnownDelivery,
): boolean {
  if (expires_at === null) return false;
  const scheduledMs = promisedWaitsMs[attempts.length - 1] ?? 0;
  const waitMs = attempts.length === 0 ? 0 : Math.max(scheduledMs, lastFailure?.askedMs ?? 0);
  return (finished_at ?? 0) + 1.2 * waitMs >= expires_at;
}

/** The sequence of a subscription has no gap and no repeat. */
function gaps(log: readonly DeliveryRecord[]): string[] {
  return [...Map.groupBy(log, ({ subscription_id }) => subscription_id)].flatMap(([id, all]) => {
    const sequences = all.map(({ sequence }) => sequence).sort((a, b) => a - b);
    const isWhole = sequences.every((sequence, i) => sequence === i + 1);
    return isWhole ? [] : [`${id} has the sequence ${sequences.join()}`];
  });
}

function leftOver(on: Platform): string[] {
  const { inFlight, queued, unrecorded, waiting } = on.process.dispatcher.stats;
  const isIdle = inFlight + queued + unrecorded + waiting === 0;
  return isIdle ? [] : [`left in memory: ${JSON.stringify({ inFlight, queued, unrecorded, waiting })}`];
}
