import type { Fields } from "../client/admin-api.ts";
import type { DeliveriesApi, ReplayAnswer } from "../client/deliveries-api.ts";
import { askingAgain, poll } from "../client/polling.ts";
import { noteOutcome, printDelivery } from "../output/deliveries.ts";
import { counted } from "../output/format.ts";
import type { Output } from "../output/output.ts";
import { note } from "../output/print.ts";
import { showProgress } from "../output/progress.ts";

interface RedeliveryOptions {
  readonly api: DeliveriesApi;
  readonly out: Output;
  /** Whether to wait for the result. */
  readonly wait: boolean;
  /** The options that name the same server or directory, for suggested commands. */
  readonly option: string;
}

/** Sends a delivery again. Returns whether it failed; false without `wait`. */
export async function retry(id: string, { api, out, wait, option }: RedeliveryOptions): Promise<boolean> {
  let delivery = await api.retry(id);
  const before = delivery.attempts.length;
  const isPending = () => delivery.status === "pending" && delivery.attempts.length <= before;
  const unlessAway = askingAgain();
  if (wait) {
    if (before === 0)
      note("It has no attempt yet, so it keeps its place behind earlier ones. Ctrl-C ends only the waiting.");
    await poll(isPending, async () => {
      delivery = (await unlessAway(() => api.show(id))) ?? delivery;
    });
  }
  await printDelivery(delivery, out);
  if (wait) noteOutcome(delivery);
  else if (!out.json) note(`It is being sent again. To see the result: onair deliveries show ${id}${option}`);
  return wait && delivery.status !== "delivered";
}

/** Creates or shows a replay and its progress. Returns whether it was canceled while waiting. */
export async function replay(
  asked: { readonly id: string } | { readonly range: Fields },
  { api, out, wait, option }: RedeliveryOptions,
): Promise<boolean> {
  let current = "id" in asked ? await api.showReplay(asked.id) : await api.startReplay(asked.range);
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
  const { skipped, ...rest } = current;
  const counts = { matched: current.matched, queued: current.queued, ...skipped };
  const numbers = Object.entries(counts).map(([name, count]) => [name, counted(count)]);
  await out.record(current, { ...rest, ...Object.fromEntries(numbers) });
  if (!out.json && !current.dry_run) noteReplay(current, option);
  return wait && current.state === "canceled";
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
