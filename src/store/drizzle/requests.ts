import { eq, sql } from "drizzle-orm";
import { addedRequests, noRequests, type RequestStore } from "../../domain/requests.ts";
import { type Dialect, execute, lockOwner } from "./dialect.ts";

/** The requests of each application: a row for each, which the last day bounds. */
export function requestStore(db: Dialect): RequestStore {
  const { orm, transact } = db;
  const { applications, applicationRequests } = db.tables;
  const { application_id, hours, refused } = applicationRequests;
  return {
    add: (requests, now) =>
      transact(function* (orm) {
        // Always in the same order, so that two processes cannot deadlock.
        for (const [id, added] of requests.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          if (!(yield* lockOwner(db, orm, applications, id, "no key update"))) continue;
          const isIt = eq(application_id, id);
          const [known = noRequests] = yield* execute(
            orm.select({ hours, refused }).from(applicationRequests).where(isIt),
          );
          yield* execute(
            orm
              .insert(applicationRequests)
              .values({ application_id: id, ...addedRequests(known, added, now) })
              .onConflictDoUpdate({
                target: application_id,
                set: { hours: sql`excluded.hours`, refused: sql`excluded.refused` },
              }),
          );
        }
      }),
    async of(id) {
      const rows = orm.select({ hours, refused }).from(applicationRequests).where(eq(application_id, id));
      return (await rows)[0] ?? noRequests;
    },
  };
}
