import { sleep } from "../../client/sleep.ts";
import { askingAgain } from "../client/absence.ts";
import type { Fields } from "../client/admin-api.ts";
import type { DeliveriesApi, Delivery } from "../client/deliveries-api.ts";
import { deliveryCells, deliveryColumns } from "../output/deliveries.ts";
import type { Output } from "../output/output.ts";
import { print, tableWriter } from "../output/print.ts";
import { untilEnded } from "../signals.ts";

const everyMs = 1_000;
const pageSize = 100;
/** Pages looked at for what is new; more in a second are caught up with at the next look. */
const mostPages = 10;

interface FollowedList {
  readonly query: Fields;
  /** How many of those that are there already are shown first. */
  readonly first: number;
  readonly forOperator: boolean;
  readonly out: Output;
}

/**
 * Prints deliveries, the oldest first, and then each one that is new or changed, until Ctrl-C. Changes are seen as long
 * as a delivery is among the newest hundred. A server that is away for a while is waited for.
 */
export async function followDeliveries(api: DeliveriesApi, list: FollowedList): Promise<void> {
  const { query, first, forOperator, out } = list;
  const stop = untilEnded();
  const tabulated = tableWriter(deliveryColumns({ forOperator }), out.screen);
  const shown = new Shown();
  const start = await api.page({ ...query, limit: Math.min(first, pageSize) });
  let rows = shown.news(start.data).news;
  // What was there before and is not shown counts as known.
  shown.news((await api.page({ ...query, limit: pageSize })).data);
  const unlessAway = askingAgain();
  for (;;) {
    for (const one of out.json ? rows : []) await print(JSON.stringify(one));
    if (!out.json && rows.length > 0) await print(tabulated(rows.map(deliveryCells)));
    await sleep(everyMs, stop);
    if (stop.aborted) return;
    rows = (await unlessAway(() => newsOf(api, query, shown))) ?? [];
  }
}

/** What is new or changed, the oldest first. */
async function newsOf(api: DeliveriesApi, query: Fields, shown: Shown): Promise<Delivery[]> {
  const found: Delivery[] = [];
  let cursor = "";
  for (let pages = 0; pages < mostPages; pages++) {
    const page = await api.page({ ...query, limit: pageSize, ...(cursor && { cursor }) });
    const { news, isAllNew } = shown.news(page.data);
    found.unshift(...news);
    ({ cursor } = page.pagination);
    if (!isAllNew || !page.pagination.has_more) break;
  }
  return found;
}

const mostRemembered = 5_000;

/** The state in which each delivery was seen last. */
class Shown {
  readonly #states = new Map<string, string>();

  /** The new and changed ones of a page, the oldest first. */
  news(newestFirst: readonly Delivery[]): { readonly news: Delivery[]; readonly isAllNew: boolean } {
    const news: Delivery[] = [];
    let isAllNew = true;
    for (const delivery of newestFirst) {
      const { id, status, attempts } = delivery;
      const state = `${status} ${attempts.length}`;
      const known = this.#states.get(id);
      if (known !== undefined) isAllNew = false;
      if (known === state) continue;
      this.#states.delete(id);
      this.#states.set(id, state);
      news.unshift(delivery);
    }
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= mostRemembered) break;
      this.#states.delete(oldest);
    }
    return { news, isAllNew };
  }
}
