/*
 * One client of the benchmark of sending: bun client-process.ts <ours | node> <JSON of ClientOptions>
 *
 * It takes lines "<milliseconds> <signed | bare>" and answers each with a line of JSON, a `Window`.
 */
import { join } from "node:path";
import type { Resolve } from "../../../src/delivery/send/address.ts";
import type { SendRequest, SendResult } from "../../../src/delivery/send/send.ts";
import { createSender } from "../../../src/delivery/send/send.ts";
import { newSigningKey, newWebhookSecret, readSigningKey, sign } from "../../../src/delivery/signature.ts";
import { createNodeSender } from "./node-sender.ts";

export interface ClientOptions {
  readonly urls: readonly string[];
  /** Deliveries under way. */
  readonly atOnce: number;
}

/** What was sent in a while. */
export interface Window {
  readonly sent: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const bodyBytes = 700;
const [kind, text = ""] = process.argv.slice(2);
const { urls, atOnce } = JSON.parse(text) as ClientOptions;

const resolve: Resolve = (_name, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]);
const ca = await Bun.file(join(import.meta.dir, "../../webhooks/fixtures/hook.test.cert.pem")).text();
const options = { userAgent: "onair/0.1.0", resolve, ca };
const ours = createSender({ ...options, allowPrivate: true, connections: 1_024, now: Date.now });
const begin =
  kind === "node"
    ? createNodeSender(options).begin
    : (request: SendRequest, done: (result: SendResult) => void) => void ours.send(request).then(done);

const signingKey = readSigningKey(newSigningKey());
const secrets = [newWebhookSecret()];
const body = Buffer.alloc(bodyBytes, '{"type":"chat.message.sent"}');
const id = "01KEYF5T7Z2X4Q8R6W3M1N0PVC";
let signature = "";
let sequence = 0;

/** The request of the next delivery, with a new signature or the last one. */
function next(url: string, isSigned: boolean): SendRequest {
  const timestampSeconds = Math.floor(Date.now() / 1000);
  if (isSigned || signature === "")
    signature = sign({ id, timestampSeconds, body, secrets, ed25519: signingKey });
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "onair-event-type": "chat.message.sent",
    "onair-event-version": "1",
    "onair-event-id": id,
    "onair-subscription-id": id,
    "onair-sequence": String(sequence),
    "onair-attempt": "1",
    "webhook-signature": signature,
  };
  return { url, headers, body };
}

function send(forMs: number, isSigned: boolean): Promise<Window> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const endsAt = startedAt + forMs;
  let sent = 0;
  let inFlight = 0;
  return new Promise((finish, fail) => {
    const beginNext = () => {
      const url = urls[sequence++ % urls.length] ?? "";
      inFlight++;
      begin(next(url, isSigned), done);
    };
    const done = ({ class: outcome, error }: SendResult) => {
      inFlight--;
      if (outcome !== "ok") return fail(new Error(error ?? outcome));
      sent++;
      if (performance.now() < endsAt) return beginNext();
      if (inFlight > 0) return;
      const { user, system } = process.cpuUsage(cpuBefore);
      finish({ sent, seconds: (performance.now() - startedAt) / 1000, cpuSeconds: (user + system) / 1e6 });
    };
    for (let i = 0; i < atOnce; i++) beginNext();
  });
}

process.stdout.write("ready\n");
for await (const line of console) {
  const [milliseconds, signing] = line.split(" ");
  process.stdout.write(`${JSON.stringify(await send(Number(milliseconds), signing === "signed"))}\n`);
}
