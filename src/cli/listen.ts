import type { KeyObject } from "node:crypto";
import type { Client } from "../client/create-client.ts";
import type { NoticeEvent } from "../client/events.ts";
import { followStream, type Streamed } from "../client/stream.ts";
import { readPublicKey, verify } from "../delivery/signature.ts";
import { summaryOf, verdictReasons } from "../dev/receiver.ts";
import { builtInEventNames } from "../domain/events/built-in.ts";
import { endpointNotices } from "../domain/notices.ts";
import { jsonObject } from "../domain/validation/json.ts";
import { clockTime, printable, type Terminal, terminalOn } from "../runtime/terminal.ts";
import { command, readForward, readSince, repeatable, switches, valued } from "./arguments.ts";
import { describeError } from "./calls/http.ts";
import {
  type Forwarded,
  forward,
  forwardingSecret,
  type ReceivedDelivery,
  readSigningSecret,
  secretHint,
} from "./calls/local-program.ts";
import { broadcasterId, knownTypes } from "./calls/names.ts";
import {
  forPeople,
  publicHelp,
  publicOptions,
  readPublicTarget,
  refuseForUser,
  refuseUserToken,
  withPublicApi,
} from "./calls/public-api.ts";
import { untilEnded } from "./command.ts";
import { print } from "./output/print.ts";

const help = `Usage: onair listen [options]

Receives the events of an application over its event stream, on any machine. It verifies the
platform's signature of each event and prints the event. With --forward, it also sends each event to
a local program as a webhook, one after another, and prints the answer. After an interruption it
continues where it stopped. The application needs the delivery "stream" or "both".

${publicHelp}
  --forward URL  the local program, like localhost:3000/webhook
  --secret SECRET
                 whsec_…, which signs the forwarded webhooks (ONAIR_WEBHOOK_SECRET; default: one
                 that is made once for the profile and shown; with a token, one for this run). The
                 application's own secret is not used
  --type TYPE    only events of this type; may be repeated
  --broadcaster USER
                 only events of this channel, by the owner's username or user id; not with a user's
                 profile, whose stream has only that user's events
  --since DURATION
                 start with the events of this time, like 90s, 30m or 1h (default: start now)
  --from ID      instead: start after this id of the stream
  --shard K/N    only the events of one of N shards, like 2/8: every N-th broadcaster
  --json         print each event as one line of JSON

Stop it with Ctrl-C. Exit code: 0 when stopped, 1 when the server refused, 2 for wrong usage.
`;

export const listen = command({
  summary: "receive events over the stream; print and forward them",
  help,
  options: {
    ...publicOptions,
    ...valued("forward", "secret", "broadcaster", "since", "from", "shard"),
    ...repeatable("type"),
    ...switches("json"),
  },
  values: { type: builtInEventNames },
  async run({ values, env, out: { json }, mistakes, check }) {
    const { forward: to, from, shard, broadcaster } = values;
    const { type: types = [] } = values;
    const since = readSince(values.since, mistakes);
    if (since !== undefined && from !== undefined) mistakes.push("--since and --from exclude each other");
    const target = readPublicTarget(values, env, mistakes);
    const forwardUrl = to === undefined ? null : readForward(to, mistakes);
    const ownSecret = readSigningSecret(values.secret, env, mistakes);
    if (broadcaster !== undefined) refuseForUser(target, mistakes);
    if (from !== undefined && !/^[\x21-\x7e]{1,200}$/.test(from))
      mistakes.push("--from must be an id of the stream");
    if (shard !== undefined && !/^[1-9][0-9]?\/[1-9][0-9]?$/.test(shard))
      mistakes.push("--shard must be K/N, like 2/8");
    check();
    const { url } = target;
    const signal = untilEnded();
    let isToldAboutSecret = false;
    // With JSON on standard output, notices go to standard error.
    const terminal = terminalOn(json ? process.stderr : process.stdout, env);
    const { keptSecret } = target;
    const tell = (sentence: string) => terminal.print(`${sentence}\n`);
    const secret = forwardUrl === null ? "" : forwardingSecret(forwardUrl, { ownSecret, keptSecret, tell });
    const follow = {
      from,
      ...(since !== undefined && { after: new Date(since) }),
      shard,
      signal,
      connected: () => terminal.line(terminal.style("dim", `Listening to ${url}. Stop with Ctrl-C.`)),
      interrupted(reason: unknown, retryMs: number) {
        const sentence = printable(describeError(forPeople(reason, target)));
        terminal.line(
          terminal.style(
            "yellow",
            `${sentence.replace(/[.?]$/, "")}; trying again in ${(retryMs / 1000).toFixed(1)} s`,
          ),
        );
      },
    };
    const listening = withPublicApi(target, async (api) => {
      // The public key verifies signatures without the application's secret.
      const { data } = await api.get("/public/v1/public-key", { signal });
      const publicKey = readPublicKey(data.public_key);
      if (types.length > 0) await knownTypes(api, types, undefined);
      if (broadcaster !== undefined) await refuseUserToken(api, target);
      const isOfChannel =
        broadcaster === undefined ? null : channelFilter(api, await broadcasterId(api, broadcaster));
      for await (const streamed of followStream(api, follow)) {
        const received = read(streamed, publicKey);
        if (!(await isWanted(streamed, received, { types, isOfChannel }))) continue;
        if (!json) printReceived(terminal, streamed, received);
        const isSent = received.kind === "delivery" && forwardUrl !== null;
        const forwarded = isSent
          ? await forward(received.delivery, { url: forwardUrl, secret, signal })
          : null;
        if (json) await print(JSON.stringify(asJson(streamed, received, forwarded)));
        else if (forwarded) {
          printForwarded(terminal, forwarded);
          if (forwarded.status === 401 && !isToldAboutSecret) {
            isToldAboutSecret = true;
            terminal.line(`           ${secretHint(ownSecret !== undefined)}`);
          }
        }
      }
    });
    await listening.catch((error) => {
      if (!signal.aborted) throw error;
    });
  },
});

interface Wanted {
  /** The event types; empty for all. */
  readonly types: readonly string[];
  /** Whether an event is of the wanted channel; null for all channels. */
  readonly isOfChannel: ((delivery: ReceivedDelivery) => Promise<boolean>) | null;
}

/** Whether a message is to be printed. Gaps always are; a notice about the endpoint belongs to no channel. */
async function isWanted(
  { type }: Streamed,
  received: Received,
  { types, isOfChannel }: Wanted,
): Promise<boolean> {
  if (received.kind === "gap") return true;
  if (types.length > 0 && !types.includes(type)) return false;
  const isNotice = endpointNotices.some((one) => one === type);
  return isOfChannel === null || received.kind !== "delivery" || isNotice || isOfChannel(received.delivery);
}

/**
 * Returns a function that says whether an event is of this channel: by its subscription, because not every payload has
 * the channel; by its payload once the subscription is deleted.
 */
function channelFilter(api: Client, channel: number): NonNullable<Wanted["isOfChannel"]> {
  const channels = new Map<string, number | null>();
  return async ({ headers, body }) => {
    const id = headers["onair-subscription-id"] ?? "";
    if (!channels.has(id)) {
      const { data } = await api.get("/public/v1/events/subscriptions");
      for (const { id, broadcaster_user_id } of data) channels.set(id, broadcaster_user_id);
      if (!channels.has(id)) channels.set(id, channelIn(body));
    }
    return channels.get(id) === channel;
  };
}

function channelIn(body: string): number | null {
  const { data } = (jsonObject(body) ?? {}) as {
    readonly data?: { readonly broadcaster?: { readonly user_id?: unknown } };
  };
  const id = data?.broadcaster?.user_id;
  return typeof id === "number" ? id : null;
}

/** A message of the stream by its kind. */
type Received =
  | { readonly kind: "delivery"; readonly delivery: ReceivedDelivery }
  | { readonly kind: "gap"; readonly from: string; readonly to: string }
  | { readonly kind: "unverified"; readonly reason: string };

function read({ type, data }: Streamed, publicKey: KeyObject): Received {
  const value: StreamedData | null = jsonObject(data);
  if (!value) return { kind: "unverified", reason: "not an event of On Air" };
  if (type === "gap") return { kind: "gap", from: value.from ?? "", to: value.to ?? "" };
  const { headers = {}, body = "" } = value;
  const verdict = verify({
    id: headers["webhook-id"],
    timestamp: headers["webhook-timestamp"],
    signature: headers["webhook-signature"],
    body,
    publicKey,
    now: Date.now(),
  });
  return verdict === "ok"
    ? { kind: "delivery", delivery: { headers, body } }
    : { kind: "unverified", reason: verdictReasons[verdict] };
}

/** The data of a message of the stream. */
interface StreamedData {
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly from?: string;
  readonly to?: string;
}

function printReceived({ style, line }: Terminal, { type }: Streamed, received: Received): void {
  const time = style("dim", clockTime(Date.now()));
  if (received.kind === "gap") {
    const { from, to } = received;
    line(`${time} ${style("yellow", "gap")} events published from ${from} to ${to} are no longer kept`);
  } else if (received.kind === "unverified") {
    line(`${time} ${style("red", "refused ")} ${printable(type)}: ${received.reason}`);
  } else {
    const { headers, body } = received.delivery;
    const { broadcaster, text } = summaryOf(body);
    const said = text ? `${broadcaster}: ${text}` : (noticeIn(body) ?? body);
    // A notice belongs to no subscription.
    const sequence = headers["onair-sequence"];
    const about = style("dim", `${sequence === undefined ? "" : `#${sequence} `}${headers["webhook-id"]}`);
    line(
      `${time} ${style("green", "verified")} ${style("cyan", printable(type))} ${about} ${printable(said)}`,
    );
  }
}

/** Returns the sentences of a notice; null for an event. */
function noticeIn(body: string): string | null {
  const { type, data } = (jsonObject(body) ?? {}) as Partial<NoticeEvent>;
  return endpointNotices.some((one) => one === type) && data ? `${data.summary} ${data.advice ?? ""}` : null;
}

function printForwarded({ style, line }: Terminal, { status, durationMs, answer }: Forwarded): void {
  const isGood = status !== null && status >= 200 && status < 300;
  const text = printable(answer).trim();
  const result = style(isGood ? "green" : "red", status === null ? "failed" : String(status));
  line(`         → ${result} in ${durationMs} ms${text ? `: ${text}` : ""}`);
}

function asJson({ type, id }: Streamed, received: Received, forwarded: Forwarded | null): object {
  if (received.kind === "gap") return { type, id, from: received.from, to: received.to };
  if (received.kind === "unverified") return { type, id, verified: false, reason: received.reason };
  const { headers, body } = received.delivery;
  const sent = forwarded && {
    forwarded: { status: forwarded.status, duration_ms: forwarded.durationMs, answer: forwarded.answer },
  };
  return { type, id, verified: true, headers, body: JSON.parse(body), ...sent };
}
