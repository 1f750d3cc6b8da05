import { eq, lt, sql } from "drizzle-orm";
import type { OrderStore } from "../replicas/orders.ts";
import type { Postgres } from "./database/pool.ts";
import { categoryOrders as orders } from "./schema/platform.ts";

export function orderStore({ orm }: Postgres): OrderStore {
  return {
    async keep(taken_at, content, used_at) {
      await orm
        .insert(orders)
        .values({ taken_at, content: Buffer.from(content), used_at })
        .onConflictDoUpdate({
          target: orders.taken_at,
          set: { used_at: sql`greatest(${orders.used_at}, excluded.used_at)` },
        });
    },
    async find(takenAt) {
      const [found] = await orm
        .select({ content: orders.content })
        .from(orders)
        .where(eq(orders.taken_at, takenAt));
      return found?.content ?? null;
    },
    async prune(before) {
      await orm.delete(orders).where(lt(orders.used_at, before));
      return true;
    },
  };
}
