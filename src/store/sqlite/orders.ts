import type { OrderStore } from "../replicas/orders.ts";

/** Stores nothing: a process that is alone has its snapshots in memory. */
export const noOrders: OrderStore = {
  async keep() {},
  find: async () => null,
  prune: async () => true,
};
