import type { Fields } from "./calls/admin-api.ts";
import type { DeliveriesApi, ReplayAnswer } from "./calls/deliveries.ts";
import { askingAgain, poll } from "./calls/http.ts";
import { type Output, pagesOf } from "./output/output.ts";
import { counted, note, showProgress } from "./output/print.ts";

export interface RedeliveryOptions {
  readonly api: DeliveriesApi;
  readonly out: Output;
  /** Whether to wait for the result. */
  readonly wait: boolean;
  /** The options that name the same server or directory, for suggested commands. */
  readonly option: string;
}

/** Creates or shows a replay and its progress. Returns whether it was canceled while waiting. */
export async function replay(
  which: { readonly id: string } | { readonly range: Fields },
  { api, out, wait, option }: RedeliveryOptions,
): Promise<boolean> {
  let current = "id" in which ? await api.showReplay(which.id) : await api.startReplay(which.range);
  if (wait && current.state === "running") {
    note(
      `The replay ${current.id} is running, and continues after Ctrl-C. It pauses while a failing endpoint has many pending deliveries.`,
    );
    const unlessAway = askingAgain();
    const share = { nouns: "deliveries", share: 0 };
    const progress = { bytes: 0, totalBytes: null, rows: 0, counted: share };
    const display = showProgress(progress);
    await poll(
      () => current.state === "running",
      async () => {
        current = (await unlessAway(() => api.showReplay(current.id))) ?? current;
        progress.rows = current.queued;
        share.share = current.progress;
      },
    ).finally(() => display.end());
  }
  // A small replay ends at once, so that its counts are final.
  const until = performance.now() + (wait || "id" in which ? 0 : smallReplayMs);
  await poll(
    () => current.state === "running" && performance.now() < until,
    async () => {
      current = await api.showReplay(current.id);
    },
  );
  const { skipped, queued: _, matched: __, ...rest } = current;
  const queued = current.dry_run ? { would_be_queued: current.queued } : { queued: current.queued };
  const counts = { matched: current.matched, ...queued, ...skipped };
  const numbers = Object.entries(counts).map(([name, count]) => [name, counted(count)]);
  await out.record(current, { ...rest, ...Object.fromEntries(numbers) });
  if (!out.json && !current.dry_run) noteReplay(current, option);
  if (!out.json && current.matched === 0 && current.state === "completed" && current.status === "missed")
    await noteNothingMissed(api, current, option);
  return wait && current.state === "canceled";
}

/** The time that a new replay has to end before its progress is printed. */
const smallReplayMs = 1_000;

/** The most deliveries of a kind that are counted to explain a replay. */
const mostCounted = 500;

/** Says why a replay found nothing missed: what failed in its range is pending again, or has arrived since. */
async function noteNothingMissed(api: DeliveriesApi, replay: ReplayAnswer, option: string): Promise<void> {
  const { app_id, subscription_id, broadcaster_user_id, type, from, to } = replay;
  const range = {
    ...(app_id !== undefined && { application_id: app_id }),
    ...(subscription_id !== null && { subscription_id }),
    ...(broadcaster_user_id !== null && { broadcaster: broadcaster_user_id }),
    ...(type !== null && { type }),
    after: from,
    before: to,
  };
  const found = async (status: string) => {
    const pages = pagesOf({ limit: mostCounted, cursor: "" }, (page) =>
      api.page({ ...range, status, ...page }),
    );
    return (await Array.fromAsync(pages)).flatMap(({ data }) => data);
  };
  const pending = await found("pending");
  const again = pending.filter(({ attempts }) => attempts.length > 0);
  const later = (await found("delivered")).filter(({ attempts }) => attempts.length > 1);
  const next = again.flatMap(({ next_attempt_at }) => next_attempt_at ?? []).sort()[0];
  const are = (count: number) => (count === 1 ? "is" : "are");
  const counts: readonly [number, (count: number) => string][] = [
    [
      again.length,
      (n) => `failed and ${are(n)} pending again${next === undefined ? "" : `, next at ${next}`}`,
    ],
    [later.length, () => "failed and arrived later"],
    [pending.length - again.length, (n) => `${are(n)} waiting for the first attempt`],
  ];
  const parts = counts.flatMap(([n, what]) => {
    const number = n >= mostCounted ? `at least ${counted(n)}` : counted(n);
    return n > 0 ? `${number} ${what(n)}` : [];
  });
  note(`Nothing is missed of what was published since ${from}: ${parts.join("; ") || "no attempt failed"}.`);
  const whose = app_id === undefined ? "" : ` --application ${app_id}`;
  if (again.length > 0)
    note(
      `To send the pending ones now: onair deliveries replay${whose} --from ${from} --status failing${option}`,
    );
}

function noteReplay({ id, app_id, state, queued }: ReplayAnswer, option: string): void {
  const whose = app_id === undefined ? "" : ` --application ${app_id}`;
  if (state === "running")
    note(
      `It is running. To see its progress: onair deliveries replay ${id}${option}; with --wait, to wait for its end.`,
    );
  else if (queued > 0)
    note(
      `The queued deliveries are sent one after another. To see them: onair deliveries list${whose} --status pending${option}`,
    );
}
