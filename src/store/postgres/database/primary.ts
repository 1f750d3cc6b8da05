import { second } from "../../../domain/time.ts";
import { type ConnectionSettings, type Host, hostsOf, shownHost } from "./connection-url.ts";
import { driver } from "./driver.ts";
import { isUnreachable, NoPrimaryError } from "./faults.ts";

/** The time for a response. All hosts are queried at once, so that unresponsive ones add no further time. */
const answerMs = 2 * second;

/**
 * Returns the first host, in their order, whose server is a primary. The last primary (`known`) comes first, so that it
 * is preferred to a former primary that came back, and is found without waiting for unresponsive hosts. Throws a
 * lasting error of one of them, such as a wrong password, else a `NoPrimaryError`.
 */
export async function primaryOf(
  settings: ConnectionSettings,
  { known, isPooled = false }: { readonly known: Host | null; readonly isPooled?: boolean | undefined },
): Promise<Host> {
  const isKnown = (host: Host) => known !== null && shownHost(host) === shownHost(known);
  const hosts = hostsOf(settings).toSorted((a, b) => Number(isKnown(b)) - Number(isKnown(a)));
  const asked = hosts.map((host) => ({ host, whyNot: whyNoPrimary(settings, host, isPooled) }));
  const reasons: string[] = [];
  let lasting: unknown = null;
  for (const { host, whyNot } of asked) {
    const why = await whyNot;
    if (why === null) return host;
    reasons.push(`${shownHost(host)}: ${why.message}`);
    if (!isUnreachable(why)) lasting ??= why;
  }
  throw lasting ?? new NoPrimaryError(reasons.join(", "));
}

async function whyNoPrimary(
  settings: ConnectionSettings,
  host: Host,
  isPooled: boolean,
): Promise<Error | null> {
  const sql = driver({ ...settings, ...host }, { connections: 1, isPooled }, answerMs);
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new NoPrimaryError("it does not respond")), answerMs);
  try {
    const [facts] = await Promise.race([
      sql.unsafe("SELECT pg_is_in_recovery() AS is_standby"),
      late.promise,
    ]);
    return facts?.is_standby === false ? null : new NoPrimaryError("it is a standby");
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    clearTimeout(timer);
    sql.close({ timeout: 0 }).catch(() => {}); // it is no longer used
  }
}
