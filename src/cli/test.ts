import type { AnswerOf } from "../client/create-client.ts";
import { chunksOf } from "../client/http.ts";
import { serverSentEvents } from "../client/stream.ts";
import { builtInEventNames } from "../domain/events/built-in.ts";
import { escaped } from "../runtime/terminal.ts";
import { command, readNumber, switches, valued } from "./arguments.ts";
import { knownTypes } from "./calls/names.ts";
import { publicHelp, publicOptions, readPublicTarget, withPublicApi } from "./calls/public-api.ts";
import { failed, ok } from "./command.ts";
import { note, print, recordLines, type Screen, write } from "./output/print.ts";

const help = `Usage: onair test [event type] [options]

Lets the platform send a signed sample event to your webhook URL now. Shows each stage of the
exchange as it happens, and what the receiver did wrong. At most ten per minute. To check a receiver
on this machine without a server, use "onair trigger --forward".

  --version N    the version of the event type (default: the newest)
${publicHelp}
  --json         print the exchange as JSON

Exit code: 0 if the receiver accepted the event, 1 if not or on failure, 2 for wrong usage.
`;

export const testCommand = command({
  summary: "send a signed sample to your webhook URL, and show the exchange",
  help,
  options: { ...publicOptions, ...valued("version"), ...switches("json") },
  most: 1,
  candidates: builtInEventNames,
  async run({ words: [event], values, env, out, mistakes, check }) {
    const version = readNumber("version", values.version, mistakes, 1);
    if (event === undefined && version !== undefined) mistakes.push("--version needs an event type");
    const target = readPublicTarget(values, env, mistakes);
    check();
    return withPublicApi(target, async (api) => {
      const [type] = event === undefined ? [] : await knownTypes(api, [event], version);
      const body = type ? { event: type.name, version: type.version } : {};
      if (out.json) {
        const { data } = await api.post("/public/v1/events/test", { body });
        await print(JSON.stringify(data));
        return data.delivered ? ok : failed;
      }
      // A boundary: the document has no type for the body of a stream.
      const stream: unknown = await api.post("/public/v1/events/test/stream", { body, parseAs: "stream" });
      const data = await follow(stream as ReadableStream<Uint8Array>, out.screen);
      await show(data, out.screen);
      return data.delivered ? ok : failed;
    });
  },
});

type Exchange = AnswerOf<"/public/v1/events/test", "post">["data"];

interface Stage {
  readonly stage: "dns" | "connect" | "tls" | "sent" | "first_byte";
  readonly at_ms: number;
}

/** The text of each stage, and what a terminal shows while waiting for the next stage. */
const stages: Readonly<Record<Stage["stage"], readonly [passed: string, next: string]>> = {
  dns: ["Host name resolved", "Connecting"],
  connect: ["Connected", "Negotiating TLS"],
  tls: ["TLS established", "Sending"],
  sent: ["Request sent", "Waiting for the response: the receiver has 15 seconds"],
  first_byte: ["Response received", "Reading the response"],
};
const stageWidth = 26;

/** Prints the request and each stage as it happens. Returns the exchange. Throws when the stream breaks off. */
async function follow(stream: ReadableStream<Uint8Array>, on: Screen): Promise<Exchange> {
  const isTerminal = process.stdout.isTTY === true;
  const wait = (text: string) => (isTerminal ? write(`${on.style("dim", `${text}…`)}`) : null);
  let isTls = false;
  const clear = isTerminal ? "\r\x1b[2K" : "";
  for await (const { type, data } of serverSentEvents(chunksOf(stream))) {
    const value: unknown = JSON.parse(data ?? "null");
    if (type === "exchange") {
      await write(`${clear}\n`);
      return value as Exchange;
    }
    if (type === "request") {
      const { method, url, headers, body } = value as Exchange["request"];
      isTls = url.startsWith("https:");
      await print([`${method} ${url}`, recordLines(headers, on), `${escaped(body)}\n`].join("\n\n"));
      await wait("Resolving the host name");
    } else if (type === "stage") {
      const { stage, at_ms } = value as Stage;
      const [passed, next] = stages[stage];
      await write(clear);
      await print(`${passed.padEnd(stageWidth)}${on.style("dim", `after ${at_ms} ms`)}`);
      await wait(stage === "connect" && !isTls ? "Sending" : next);
    }
  }
  throw new Error("The connection broke off before the test ended. Try again");
}

async function show(
  { delivered, problem, response, error, duration_ms }: Exchange,
  on: Screen,
): Promise<void> {
  const parts = [
    response === null ? `No response: ${error ?? ""}` : `Response ${response.status} after ${duration_ms} ms`,
    ...(response === null || Object.keys(response.headers).length === 0
      ? []
      : [recordLines(response.headers, on)]),
    ...(response?.body ? [recordLines({ body: response.body }, on)] : []),
  ];
  await print(parts.join("\n\n"));
  note(problem ?? error ?? (delivered ? "The receiver answered correctly." : "The event was not delivered."));
}
