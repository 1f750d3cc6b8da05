import type { Audit } from "../api/admin/audit.ts";
import { isNothing } from "../domain/audit.ts";
import { auditedActions } from "../domain/audited-actions.ts";
import { didYouMean } from "../server/settings/command-line.ts";
import { command, pagingHelp, pagingOptions, readPaging, readSince, switches, valued } from "./arguments.ts";
import { withAdminApi } from "./calls/admin-api.ts";
import { readTarget, targetHelp, targetOptions } from "./calls/target.ts";
import { pagesOf } from "./output/output.ts";

const help = `Usage: onair audit [filters] [options]

Shows the audit log, newest first, at a running server or in a data directory that no server uses:
who changed what through the admin API, and what applications changed about themselves, with old and
new values but without secrets. Names are those at the time of the change.

  --application NAME changes of the application with this name or id
  --user NAME        changes of the user with this username or id
  --key NAME         changes by the key or application with this name or id
  --action ACTION    changes of this kind, as the list shows it, like "Changed application", or as
                     the reference of the admin API names it, like changeApplication
  --object KIND      this kind of object, like applications or keys
  --object-id ID     the object with this id
  --after TIME, --before TIME
                     in this range of time, like 2026-01-14T16:00:00Z
  --since DURATION   instead: since then, like 90s, 30m, 1h or 2d ago
${pagingHelp.replaceAll("for list: ", "")}
${targetHelp}
  --json             print the answer as JSON

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

export const audit = command({
  summary: "show the audit log: who changed what",
  help,
  options: {
    ...targetOptions,
    ...pagingOptions,
    ...switches("json"),
    ...valued("application", "user", "key", "action", "object", "object-id", "after", "before", "since"),
  },
  values: { action: Object.keys(auditedActions) },
  async run({ values, env, out, mistakes, check }) {
    const target = readTarget(values, env, mistakes);
    const paging = readPaging(values, mistakes);
    const from = readSince(values.since, mistakes);
    const action = readAction(values.action, mistakes);
    const { application, user, key, object, "object-id": object_id, after, before, since } = values;
    if (since && (after || before)) mistakes.push("--since excludes --after and --before");
    check();
    const range = { after: from ?? after, before };
    const filters = { application, user, key, action, object, object_id, ...range };
    const isFiltered = Object.values(filters).some((value) => value !== undefined);
    await withAdminApi(target, (api) =>
      out.list(
        pagesOf<Audit>(paging, (page) => api.get("/admin/v1/audit", { ...filters, ...page })),
        {
          columns: ["AT", "WHO", "ACTION", "OBJECT", "CHANGES", "FROM"],
          cells,
          empty: isFiltered ? "There are no such changes." : "There are no changes.",
        },
      ),
    );
  },
});

/**
 * Returns the operation that is named by its words or by its `operationId`, in any case; undefined when it is absent,
 * or unknown, which adds a mistake.
 */
function readAction(text: string | undefined, mistakes: string[]): string | undefined {
  if (text === undefined) return undefined;
  const known = Object.entries(auditedActions);
  const wanted = text.trim().toLowerCase();
  const found = known.find((names) => names.some((name) => name.toLowerCase() === wanted));
  if (found) return found[0];
  const words = Object.values(auditedActions);
  const similar = words.filter((one) => wanted !== "" && one.toLowerCase().includes(wanted)).join(", ");
  const meant = didYouMean(text, known.flat()) || (similar && ` There are: ${similar}.`);
  mistakes.push(
    `--action must be a change like "Changed application" or changeApplication, not "${text}".${meant}`,
  );
  return undefined;
}

function cells({ at, actor, object, object_id, object_name, address, ...entry }: Audit): string[] {
  const what = [object, object_name, object_name === null ? object_id : `(${object_id})`];
  const changes = entry.changes.map(inWords).join(", ") || entry.fields.join(", ") || "-";
  return [at, actor.name, did(entry), what.filter(Boolean).join(" "), changes, address || "-"];
}

/** The most characters of a value in a table. */
const maxValueLength = 60;

function inWords({ field, from, to }: Audit["changes"][number]): string {
  const [before, after] = [from, to].map((value) => {
    if (isNothing(value)) return null;
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text;
  });
  if (after === null) return before === null ? field : `${field} removed, was ${before}`;
  return before === null ? `${field} set to ${after}` : `${field}: ${before} → ${after}`;
}

/** An action with its counts. */
function did({
  summary,
  count,
  last_at,
  accepted,
  ended,
}: Pick<Audit, "summary" | "count" | "last_at" | "accepted" | "ended">): string {
  if (accepted !== null) return `${summary} (snapshot: ${accepted} accepted, ${ended} ended)`;
  return count > 1 ? `${summary} (${count} times until ${last_at})` : summary;
}
