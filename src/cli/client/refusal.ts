import type { OnairError } from "../../client/errors.ts";
import { type ErrorCode, withField } from "../../domain/errors.ts";
import { day, second } from "../../domain/time.ts";
import { printable } from "../../runtime/terminal.ts";

/** Options whose name differs from the API's field. */
const optionNames: Readonly<Record<string, string>> = {
  application_id: "--application",
  subscription_id: "--subscription",
  event_id: "--event",
  scopes: "--scope",
  redirect_uris: "--redirect-uri",
  webhook_headers: "--webhook-header",
  locked: "--lock",
  owner_user_id: "--owner",
  event: "the event type",
  events: "the event type",
  overlap_seconds: "--overlap",
  broadcaster_user_id: "--broadcaster",
  object_id: "--object-id",
  data: "--set",
  "Last-Event-ID": "--from",
  id: "the id",
};

/** Returns the option for a field of the API: `--rate-limit` for `rate_limit`, `--set content` for `data.content`. */
function optionOf(field: string): string {
  const [, head = field, rest = ""] = /^([A-Za-z_-]+)(.*)$/s.exec(field) ?? [];
  const option = Object.hasOwn(optionNames, head)
    ? optionNames[head]
    : `--${head.toLowerCase().replaceAll("_", "-")}`;
  // The index of a list is left out, because its option is repeated.
  const hasNames = head === "data" || head === "webhook_headers";
  return hasNames && rest !== "" ? `${option} ${rest.replace(/^\./, "")}` : `${option}`;
}

/** Fields in seconds whose options are durations. */
const durations: ReadonlySet<string> = new Set(["overlap_seconds", "expires_in"]);

/** Rewrites the message for a field to match its option. */
function problemOf(field: string, message: string): string {
  if (durations.has(field)) {
    const range = /an integer from ([0-9]+) to ([0-9]+)( or null)?$/;
    return message.replace(range, (_, least, most) => `from ${least}s to ${(Number(most) * second) / day}d`);
  }
  // Often a name is given in place of the id.
  if (field === "id" && message.startsWith("must be a ULID")) return `${message}; the action list shows it`;
  return message.replace(
    /(later than|days after) ([a-z]+)$/,
    (_, than, other) => `${than} ${optionOf(other)}`,
  );
}

/** Advice for refusals with one usual cause. */
interface Hints {
  readonly elsewhere: string;
  readonly unauthorized: string;
}

const adminHints: Hints = {
  elsewhere: "--url must name the admin listener.",
  unauthorized: "ONAIR_ADMIN_KEY must hold a valid operator key.",
};

/**
 * Describes an error answer of the admin API in sentences, with options in place of field names.
 * @param origin of the server; null for an app in this process
 */
export function adminRefusal(error: OnairError, origin: string | null): string {
  return sentenceOf(error, origin, adminHints);
}

/** Describes an error answer of the public API in sentences, with options in place of field names. */
export function publicRefusal(error: OnairError, url: string, advice: string): string {
  const hints = { elsewhere: "The URL must be that of the public listener.", unauthorized: advice };
  const sentence = sentenceOf(error, url, hints);
  const { retryAfterMs } = error.details;
  const said =
    retryAfterMs === null ? sentence : `${sentence} (Retry-After: ${Math.ceil(retryAfterMs / 1000)})`;
  return error.code === "stream_disabled"
    ? `${said}: to change that, run "onair app change --delivery both"`
    : said;
}

function sentenceOf(error: OnairError, origin: string | null, { elsewhere, unauthorized }: Hints): string {
  const { status, details } = error;
  const { body, errors } = details;
  // Every error answer of On Air has a message.
  const said = typeof body === "object" && body !== null && "message" in body ? error.message : null;
  const message = aboutLines.has(error.code)
    ? withRefusedLines(error.message, errors)
    : errors.map(({ field, message }) => withField(optionOf(field), problemOf(field, message))).join("\n") ||
      (said ?? foreignAnswer(error));
  if (origin === null) return message;
  const isForeign = said === null && (status === 401 || status === 404);
  const isElsewhere = isForeign || (status === 404 && said === "There is nothing at this path");
  const hint = isElsewhere ? ` ${elsewhere}` : status === 401 ? ` ${unauthorized}` : "";
  const end = hint === "" || message.endsWith(".") ? "" : ".";
  return `${origin} answered ${status}: ${message}${end}${hint}`;
}

/** Errors whose fields are refused lines of a file. */
const aboutLines: ReadonlySet<string> = new Set<ErrorCode>(["empty_snapshot", "confirmation_required"]);

const shownLines = 20;

/** The message of a refused snapshot, with its first refused lines, and with options in place of parameters. */
export function withRefusedLines(
  message: string,
  errors: readonly { readonly field: string; readonly message: string }[],
): string {
  const lines = errors.slice(0, shownLines).map(({ field, message }) => `${field}: ${message}`);
  return [
    message.replace("send it again with confirm=true", "import it again with --confirm"),
    ...lines,
  ].join("\n");
}

/** Describes an answer that does not come from an On Air server. */
function foreignAnswer({ details: { location, body } }: OnairError): string {
  if (location) return `it redirects to ${location}, which is not followed.`;
  const beginning = printable(typeof body === "string" ? body : JSON.stringify(body)).slice(0, 200);
  return /^\s*</.test(beginning) || beginning === "" ? "this is not an answer of On Air." : beginning;
}
