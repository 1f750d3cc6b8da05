import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { shownSizes } from "../../domain/storage.ts";
import { shownDataLocation } from "../../store/location.ts";
import type { DatabaseStorage } from "../../store/storage.ts";
import { factFindings } from "./database.ts";

/** Checks a PostgreSQL database. Also returns its facts for other checks; null when unknown. */
export async function postgresFindings(
  database: DatabaseStorage,
  now: number,
): Promise<{
  readonly findings: Finding[];
  readonly signingKey: string | null;
  readonly newestEventAt: number | null;
}> {
  const { ok, wrong } = findingsOf("database");
  const schema = findingsOf("schema");
  const location = shownDataLocation(database.location);
  const unknown = { signingKey: null, newestEventAt: null };
  try {
    const { applied, pending } = await database.schema();
    if (pending.length > 0) {
      const form = applied.length === 0 ? "is empty" : `has an older schema (${applied.at(-1)})`;
      const message = `${location} ${form}: ${pending.length} migrations are pending`;
      const advice = '"onair migrate" or the next "onair serve" upgrades it';
      return { findings: [schema.warning(message, advice)], ...unknown };
    }
    const { facts, kinds } = await database.facts();
    const findings = [
      ok(`PostgreSQL ${facts.version} answers at ${location}`),
      schema.ok(`the database has the schema of this version (${applied.at(-1)})`),
      ...(await primaryFindings(database)),
      ...factFindings(facts, now),
      findingsOf("sizes").ok(shownSizes(kinds)),
    ];
    return { findings, signingKey: facts.signingKey, newestEventAt: facts.newestEventAt };
  } catch (error) {
    const message = messageOf(error);
    return { findings: [wrong(message)], ...unknown };
  }
}

/** Checks that one host alone accepts writes, if the URL names several. */
async function primaryFindings(database: DatabaseStorage): Promise<Finding[]> {
  const hosts = await database.writableHosts();
  if (hosts === null) return [];
  const { ok, wrong, skipped } = findingsOf("primary");
  const [newest, ...others] = hosts;
  if (!newest) return [skipped("no host of the URL answered as primary")];
  if (others.length === 0) return [ok(`${newest.host} is the only host of the URL that accepts writes`)];
  const shown = [newest, ...others].map(({ host, timeline }) => `${host} (timeline ${timeline})`);
  const former = others.filter(({ timeline }) => timeline < newest.timeline).map(({ host }) => host);
  return [
    wrong(
      `${shown.length} hosts of the URL accept writes: ${shown.join(", ")}. What one of them stores, the others do not have`,
      former.length === others.length
        ? `stop PostgreSQL on the former primary ${former.join(", ")}, and make it a standby of ${newest.host}`
        : "name only hosts of one primary and its standbys in the URL, and stop PostgreSQL on all others",
    ),
  ];
}
