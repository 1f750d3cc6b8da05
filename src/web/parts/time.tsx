import { signal } from "@preact/signals";
import { hour } from "../../domain/time.ts";

/** The current time, updated every second while the page is visible. */
const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1_000);

const daySeconds = 86_400;
/** Units with their seconds, and the number of units from which they are used. */
const units = [
  ["year", 365 * daySeconds, 2],
  ["month", 30 * daySeconds, 3],
  ["day", daySeconds, 1],
  ["hour", 3_600, 1],
  ["minute", 60, 1],
] as const;
const words = new Intl.RelativeTimeFormat("en", { style: "short" });
const local = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** A time as local time, and in UTC. */
export function fullTime(at: string): string {
  const date = new Date(at);
  return `${local.format(date)} (${date.toISOString().replace("T", " ").replace("Z", " UTC")})`;
}

/** Shorter times are "just now". */
const leastSeconds = 3;
const secondsUntil = (at: string) => Math.round((Date.parse(at) - now.value) / 1_000);

/** A relative time like "3 min. ago". Hovering shows local date and time, and UTC. */
export function Time({ at }: { at: string }) {
  const seconds = secondsUntil(at);
  const [unit, size] = units.find(([, size, least]) => Math.abs(seconds) >= size * least) ?? ["second", 1];
  const text = Math.abs(seconds) < leastSeconds ? "just now" : words.format(Math.trunc(seconds / size), unit);
  return (
    <time dateTime={at} title={fullTime(at)} class="nowrap">
      {text}
    </time>
  );
}

/**
 * Whether a time is so far in the future that `Time` says "in …". Components that call it are rendered again every
 * second.
 */
export const isFuture = (at: string) => secondsUntil(at) >= leastSeconds;

/** The last use of a key or token, which is known to the hour; null for none. */
export function LastUse({ at }: { at: string | null }) {
  if (at === null) return <>never</>;
  return now.value - Date.parse(at) < hour ? <span class="nowrap">in the last hour</span> : <Time at={at} />;
}

/** The whole seconds since a time in milliseconds, from one second on. Screen readers do not announce them. */
export function Elapsed({ since }: { since: number }) {
  const seconds = Math.floor((now.value - since) / 1_000);
  return (
    <span class="muted" aria-hidden="true">
      {seconds > 0 && `${seconds} s`}
    </span>
  );
}

/** Formats a duration, like "1.2 s". */
export function duration(ms: number): string {
  if (ms < 0.05) return "0 ms";
  if (ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Since when something is in force; nothing without a time. */
export function Since({ at }: { at: string | undefined }) {
  if (at === undefined) return null;
  return (
    <span class="muted">
      in force since <Time at={at} />
    </span>
  );
}
