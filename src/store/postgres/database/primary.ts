import { second } from "../../../domain/time.ts";
import { type ConnectionSettings, type Host, hostsOf, shownHost } from "./connection-url.ts";
import { driver } from "./driver.ts";
import { isUnreachable, NoPrimaryError } from "./faults.ts";

/** All hosts are asked at once, so that it takes no longer where the first ones are gone without a word. */
const answerMs = 2 * second;

/**
 * The first of the hosts, in their order, whose server is a primary; before all others the one that was it last (`known`), so
 * that a former primary that comes back beside it is not taken, and none that is gone is waited for. Throws what one of them
 * says that another time will not mend, as of a wrong password, and else a `NoPrimaryError`.
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
  const timer = setTimeout(() => late.reject(new NoPrimaryError("it does not answer")), answerMs);
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
    sql.close({ timeout: 0 }).catch(() => {}); // it is of no use any more
  }
}
