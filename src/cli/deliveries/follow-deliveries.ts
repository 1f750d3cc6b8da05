import { sleep } from "../../client/sleep.ts";
import type { Fields } from "../client/admin-api.ts";
import type { DeliveriesApi, Delivery } from "../client/deliveries-api.ts";
import { askingAgain } from "../client/polling.ts";
import { deliveryCells, deliveryColumns } from "../output/deliveries.ts";
import type { Output } from "../output/output.ts";
import { print, tableWriter } from "../output/print.ts";
import { untilEnded } from "../signals.ts";

const everyMs = 1_000;
const pageSize = 100;
/** Pages read in search of changes; the next poll catches up with more. */
const mostPages = 10;

interface FollowedList {
  readonly query: Fields;
  /** The number of existing deliveries to show first. */
  readonly first: number;
  readonly forOperator: boolean;
  readonly out: Output;
}

/**
 * Prints deliveries, oldest first, then each new or changed one until Ctrl-C. Changes are seen only while a delivery is
 * among the newest hundred. Waits while the server cannot be reached.
 */
export async function followDeliveries(api: DeliveriesApi, list: FollowedList): Promise<void> {
  const { query, first, forOperator, out } = list;
  const stop = untilEnded();
  const tabulated = tableWriter(deliveryColumns({ forOperator }), out.screen);
  const shown = new Shown();
  const start = await api.page({ ...query, limit: Math.min(first, pageSize) });
  let rows = shown.changes(start.data).changed;
  // Deliveries that existed before and are not shown count as seen.
  shown.changes((await api.page({ ...query, limit: pageSize })).data);
  const unlessAway = askingAgain();
  for (;;) {
    for (const one of out.json ? rows : []) await print(JSON.stringify(one));
    if (!out.json && rows.length > 0) await print(tabulated(rows.map(deliveryCells)));
    await sleep(everyMs, stop);
    if (stop.aborted) return;
    rows = (await unlessAway(() => changesSince(api, query, shown))) ?? [];
  }
}

/** Returns new and changed deliveries, oldest first. */
async function changesSince(api: DeliveriesApi, query: Fields, shown: Shown): Promise<Delivery[]> {
  const found: Delivery[] = [];
  let cursor = "";
  for (let pages = 0; pages < mostPages; pages++) {
    const page = await api.page({ ...query, limit: pageSize, ...(cursor && { cursor }) });
    const { changed, isAllNew } = shown.changes(page.data);
    found.unshift(...changed);
    ({ cursor } = page.pagination);
    if (!isAllNew || !page.pagination.has_more) break;
  }
  return found;
}

const mostRemembered = 5_000;

/** The last seen state of each delivery. */
class Shown {
  readonly #states = new Map<string, string>();

  /** Returns the new and changed deliveries of a page, oldest first, and remembers them. */
  changes(newestFirst: readonly Delivery[]): { readonly changed: Delivery[]; readonly isAllNew: boolean } {
    const changed: Delivery[] = [];
    let isAllNew = true;
    for (const delivery of newestFirst) {
      const { id, status, attempts } = delivery;
      const state = `${status} ${attempts.length}`;
      const known = this.#states.get(id);
      if (known !== undefined) isAllNew = false;
      if (known === state) continue;
      this.#states.delete(id);
      this.#states.set(id, state);
      changed.unshift(delivery);
    }
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= mostRemembered) break;
      this.#states.delete(oldest);
    }
    return { changed, isAllNew };
  }
}
