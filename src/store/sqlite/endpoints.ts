import type { Database } from "bun:sqlite";
import { type Endpoint, enabledAgain } from "../../domain/endpoints.ts";
import type { EndpointStore } from "../endpoints.ts";
import type { Commit } from "./commit.ts";
import { hurrier } from "./requeue.ts";

/** The columns of `Endpoint`, of which the generation is kept with the application. */
const select = `SELECT e.application_id, a.endpoint_generation AS generation, e.failing_since, e.failures, e.warned_at,
    e.disabled_at, e.disabled_reason, e.last_success_at, e.last_failure_at, e.last_failure_status, e.last_failure_error
  FROM endpoints e JOIN applications a ON a.id = e.application_id`;

export function endpointStore(db: Database, commit: Commit): EndpointStore {
  const renew = endpointRenewer(db);
  const find = db.prepare<Endpoint, [string]>(`${select} WHERE e.application_id = ?`);
  const unwell = db.prepare<Endpoint, []>(`${select} WHERE e.failing_since IS NOT NULL`);
  return {
    find: async (id) => find.get(id),
    failing: async () => unwell.all(),
    enable: (id, now) => commit(() => renew(id, now)),
  };
}

/**
 * Keeps the state of an endpoint, inside a transaction. The state of an earlier generation is not kept, nor that of an
 * application that is gone.
 */
export function endpointKeeper(db: Database): (endpoint: Endpoint) => void {
  const statement = db.prepare<null, (string | number | null)[]>(
    `INSERT OR REPLACE INTO endpoints (application_id, failing_since, failures, warned_at, disabled_at,
       disabled_reason, last_success_at, last_failure_at, last_failure_status, last_failure_error)
     SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM applications WHERE id = ? AND endpoint_generation = ?`,
  );
  return (endpoint) => {
    const { failing_since, failures, warned_at, disabled_at, disabled_reason, last_success_at } = endpoint;
    const { last_failure_at, last_failure_status, last_failure_error } = endpoint;
    const failing = [failing_since, failures, warned_at, disabled_at, disabled_reason];
    const last = [last_success_at, last_failure_at, last_failure_status, last_failure_error];
    statement.run(...failing, ...last, endpoint.application_id, endpoint.generation);
  };
}

/**
 * Begins a new generation of the endpoint of an application, inside a transaction, and makes its retries due. Gives the
 * generation; null: the application is gone.
 */
export function endpointRenewer(db: Database): (applicationId: string, now: number) => number | null {
  const next = db.prepare<{ generation: number }, [string]>(
    `UPDATE applications SET endpoint_generation = endpoint_generation + 1 WHERE id = ?
     RETURNING endpoint_generation AS generation`,
  );
  const find = db.prepare<Endpoint, [string]>(`${select} WHERE e.application_id = ?`);
  const keep = endpointKeeper(db);
  const hurry = hurrier(db);
  return (applicationId, now) => {
    const generation = next.get(applicationId)?.generation ?? null;
    if (generation === null) return null;
    const endpoint = find.get(applicationId);
    if (endpoint) keep(enabledAgain(endpoint, generation));
    hurry(applicationId, now);
    return generation;
  };
}
