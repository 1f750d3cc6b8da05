import { type SignatureVerdict, verify } from "../delivery/signature.ts";
import type { Person } from "../domain/events/built-in.ts";
import {
  channelFollowed,
  channelRewardRedemptionUpdated,
  channelSubscriptionGifts,
  channelSubscriptionNew,
  channelSubscriptionRenewal,
  chatMessageSent,
  findEventType,
  kicksGifted,
  livestreamMetadataUpdated,
  livestreamStatusUpdated,
  moderationBanned,
} from "../domain/events/built-in.ts";
import { checkPayload } from "../domain/events/catalogue.ts";
import type { EventType } from "../domain/events/event-type.ts";
import { isoTime } from "../domain/time.ts";
import { jsonObject } from "../domain/validation/json.ts";
import { clockTime, printable, type Terminal } from "../runtime/terminal.ts";
import type { InboxEntry } from "../web/session.ts";
import { firstFree, loopback, serveOnLoopback, withAlternatives } from "./ports.ts";

/** A sample receiver of webhooks. */
export interface DevReceiver {
  readonly port: number;
  /** The webhook URL. */
  readonly url: string;
  /** Returns the last deliveries, newest first. */
  inbox(): readonly InboxEntry[];
  /** Sets the listener that is called after each delivery. */
  onInbox(listener: () => void): void;
  stop(): Promise<void>;
}

interface DevReceiverOptions {
  /** The port of the last run; 0 for any port. */
  readonly port: number;
  /** The port to listen on; null for the last or a free one. */
  readonly wantedPort?: number | null;
  /** The signing secret in force, which the developer may rotate. */
  readonly secret: () => Promise<string>;
  readonly terminal: Terminal;
  readonly now: () => number;
}

const defaultPort = 8082;
const maxBodyBytes = 1024 * 1024;
const keptEntries = 50;

const path = "/onair-dev";
const urlForm = /^http:\/\/127\.0\.0\.1:[0-9]+\/onair-dev$/;

/** Whether a URL belongs to a receiver of `onair dev`, whatever the port. */
export function isReceiverUrl(url: string): boolean {
  return urlForm.test(url);
}

/** The reasons for refusing a delivery, in words. */
export const verdictReasons: Readonly<Record<Exclude<SignatureVerdict, "ok">, string>> = {
  missing_header: "a webhook header is missing",
  bad_timestamp: "webhook-timestamp is not a number",
  timestamp_too_old: "webhook-timestamp is too old",
  timestamp_too_new: "webhook-timestamp is in the future",
  no_matching_signature: "wrong signature",
};

/**
 * Starts a receiver on loopback. The receiver verifies the signature of each delivery, prints a line, and answers 204,
 * or 401 to an invalid signature.
 */
export function startReceiver({ port, wantedPort, secret, terminal, now }: DevReceiverOptions): DevReceiver {
  const { style } = terminal;
  const line = (verdict: string, text: string) => {
    terminal.line(`${style("dim", clockTime(now()))} ${verdict} ${text}`);
  };

  const inbox: InboxEntry[] = [];
  let notify = () => {};
  const keep = (entry: Omit<InboxEntry, "at">) => {
    inbox.unshift({ ...entry, at: isoTime(now()) });
    inbox.length = Math.min(inbox.length, keptEntries);
    notify();
  };

  const receive = async (request: Request): Promise<Response> => {
    if (new URL(request.url).pathname !== path)
      return new Response(`Deliveries go to ${path}\n`, { status: 404 });
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    const { headers } = request;
    const body = await request.text();
    const verdict = verify({
      id: headers.get("webhook-id"),
      timestamp: headers.get("webhook-timestamp"),
      signature: headers.get("webhook-signature"),
      body,
      secret: await secret(),
      now: now(),
    });
    if (verdict !== "ok") {
      const type = printable(headers.get("onair-event-type") ?? "a request").slice(0, 100);
      line(style("red", "refused "), `${type}: ${verdictReasons[verdict]}`);
      const id = headers.get("webhook-id") ?? "";
      keep({ id, is_verified: false, type, text: verdictReasons[verdict], attempt: 1 });
      return new Response(`${verdictReasons[verdict]}\n`, { status: 401 });
    }
    const { type, broadcaster, text } = summaryOf(body);
    const attempt = Number(headers.get("onair-attempt"));
    const again = attempt > 1 ? ` (attempt ${attempt})` : "";
    line(
      style("green", "verified"),
      `${style("cyan", printable(type))} ${broadcaster}: ${printable(text)}${again}`,
    );
    const id = headers.get("webhook-id") ?? "";
    keep({ id, is_verified: true, type, text: `${broadcaster}: ${text}`, attempt });
    return new Response(null, { status: 204 });
  };

  const usual = [...(port ? [port] : []), ...withAlternatives(defaultPort)];
  const server = serveOnLoopback("--receiver-port", wantedPort ?? firstFree(loopback, usual), {
    maxRequestBodySize: maxBodyBytes,
    fetch: receive,
    error: () => new Response(null, { status: 500 }),
  });
  const boundPort = server.port ?? port;
  return {
    port: boundPort,
    url: `http://${loopback}:${boundPort}${path}`,
    inbox: () => inbox,
    onInbox(listener) {
      notify = listener;
    },
    stop: () => server.stop(true),
  };
}

/** Makes an entry of `summaries`. The type parameter lets the compiler check the fields read from the payload. */
function summary<Type extends EventType>({ name }: Type, of: (data: Type["example"]) => string) {
  return [name, of as (data: unknown) => string] as const;
}

const summaries = new Map([
  summary(chatMessageSent, ({ sender, content }) => `${sender.username} said "${content}"`),
  summary(channelFollowed, ({ follower }) => `${follower.username} follows`),
  summary(channelSubscriptionNew, ({ subscriber }) => `${subscriber.username} subscribed`),
  summary(
    channelSubscriptionRenewal,
    ({ subscriber, duration }) => `${subscriber.username} subscribed again, month ${duration}`,
  ),
  summary(
    channelSubscriptionGifts,
    ({ gifter, giftees }) =>
      `${gifter.username ?? "anonymous"} gave ${giftees.length} ${giftees.length === 1 ? "subscription" : "subscriptions"}`,
  ),
  summary(
    channelRewardRedemptionUpdated,
    ({ redeemer, reward, status }) => `${redeemer.username}: "${reward.title}" is ${status}`,
  ),
  summary(livestreamStatusUpdated, ({ is_live, title }) =>
    is_live ? `went live: "${title}"` : "went offline",
  ),
  summary(
    livestreamMetadataUpdated,
    ({ metadata }) => `now "${metadata.title}" in ${metadata.category.name}`,
  ),
  summary(
    moderationBanned,
    ({ banned_user, metadata }) =>
      `${banned_user.username} was banned ${metadata.expires_at ? "for a while" : "for good"}`,
  ),
  summary(kicksGifted, ({ sender, gift }) => `${sender.username} gave ${gift.amount} Kicks (${gift.name})`),
]);

/** The summary of a delivery. */
interface Summary {
  readonly type: string;
  /** The username of the broadcaster, "" when absent. */
  readonly broadcaster: string;
  /** For example `ninja_fox said "hello"`; "" for a type that is not in the catalogue. */
  readonly text: string;
}

/** Summarises the body of a delivery; an invalid body gives an empty summary. */
export function summaryOf(body: string): Summary {
  const { type, version, data } = jsonObject(body) ?? {};
  const name = typeof type === "string" ? type : "";
  const eventType = findEventType(name, typeof version === "number" ? version : 0);
  if (!eventType || checkPayload(eventType, data).length > 0)
    return { type: name, broadcaster: "", text: "" };
  const { broadcaster } = data as { broadcaster: Person };
  return { type: name, broadcaster: broadcaster.username, text: summaries.get(name)?.(data) ?? "" };
}
