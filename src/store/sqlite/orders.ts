import type { OrderStore } from "../replicas/orders.ts";

/** A process that is alone has its orders in memory. */
export const noOrders: OrderStore = {
  async keep() {},
  find: async () => null,
  prune: async () => true,
};
