import { messageOf } from "../../domain/errors.ts";
import { type Finding, findingsOf } from "../../domain/findings.ts";
import { second } from "../../domain/time.ts";
import {
  clockCheck,
  databaseCheck,
  deliveriesHeldCheck,
  eventBodiesCheck,
  foreignKeysCheck,
  integrityCheck,
  primaryCheck,
  schemaCheck,
  searchIndexCheck,
  signingKeyCheck,
  sizesCheck,
  webhooksCheck,
} from "./database.ts";
import {
  backupsCheck,
  directoryCheck,
  diskForecastCheck,
  diskSpaceCheck,
  fileModesCheck,
} from "./directory.ts";
import {
  adminPortCheck,
  findingsCheck,
  operatorKeyCheck,
  publicListenerCheck,
  publicPortCheck,
  reachCheck,
  reportedBy,
  serverCheck,
} from "./server.ts";
import {
  adminHostCheck,
  certificatesCheck,
  deprecationsCheck,
  publicUrlCheck,
  settingsCheck,
} from "./settings.ts";
import { type Check, type Subject, type SubjectOptions, subjectOf } from "./subject.ts";

/** Every check, in the order in which they run and are shown. */
export const checks: readonly Check[] = [
  settingsCheck,
  deprecationsCheck,
  publicUrlCheck,
  adminHostCheck,
  certificatesCheck,
  directoryCheck,
  fileModesCheck,
  diskSpaceCheck,
  integrityCheck,
  foreignKeysCheck,
  eventBodiesCheck,
  databaseCheck,
  schemaCheck,
  primaryCheck,
  diskForecastCheck,
  searchIndexCheck,
  signingKeyCheck,
  webhooksCheck,
  deliveriesHeldCheck,
  sizesCheck,
  backupsCheck,
  clockCheck,
  serverCheck,
  publicListenerCheck,
  publicPortCheck,
  adminPortCheck,
  reachCheck,
  operatorKeyCheck,
  findingsCheck,
];

/**
 * Runs the checks of a place in turn. A check that throws gives a finding `wrong`, and the other checks run. A finding
 * `ok` is left out where the server of `--url` reports the same check.
 */
export async function* examine(options: SubjectOptions): AsyncGenerator<Finding> {
  const subject = subjectOf(options);
  try {
    const answer = await subject.serverFindings;
    const reported = new Set(
      reportedBy(answer).flatMap(({ check, status }) => (status === "skipped" ? [] : check)),
    );
    for (const check of checks) {
      if (!check.places.includes(subject.place)) continue;
      for await (const finding of resultsOf(check, subject)) {
        const isRepeated = finding.status === "ok" && check !== findingsCheck && reported.has(check.name);
        if (!isRepeated) yield finding;
      }
    }
  } finally {
    subject.end();
  }
}

async function* resultsOf(check: Check, subject: Subject): AsyncGenerator<Finding> {
  const say = findingsOf(check.name);
  try {
    yield* check.run(subject, say);
  } catch (error) {
    yield say.wrong(`this check failed: ${messageOf(error)}`);
  }
}

/** The time for which findings are cached, because the console requests them often. */
const keptMs = 10 * second;

/** Returns the checks that a running server makes on itself, for operators. */
export function runningFindings(
  options: Omit<SubjectOptions, "place" | "doctor">,
): () => Promise<readonly Finding[]> {
  let last: { readonly at: number; readonly findings: Promise<readonly Finding[]> } | null = null;
  return () => {
    const at = options.now();
    if (last === null || at - last.at >= keptMs)
      last = { at, findings: Array.fromAsync(examine({ ...options, place: "server" })) };
    return last.findings;
  };
}
