import { Send } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { components } from "../../../client/api.d.ts";
import { chunksOf } from "../../../client/http.ts";
import { serverSentEvents } from "../../../client/stream.ts";
import { Fault, openStream } from "../../client.ts";
import { Request, Stages } from "../../deliveries/delivery.tsx";
import { useAction } from "../../load.ts";
import { Card, Empty, Head, LinkButton, Notice } from "../../parts/basics.tsx";
import { Code, HeaderLines } from "../../parts/code.tsx";
import { useTypeChoice } from "../../parts/event-type.tsx";
import { Form } from "../../parts/form.tsx";
import { SchemaForm } from "../../parts/schema-form.tsx";
import { Read } from "../../parts/table.tsx";
import { duration, Elapsed } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { type EventType, useApplication, useEventTypes } from "./application.tsx";

type Exchange = components["schemas"]["TestExchange"];

/** Sends a sample to the webhook and shows the whole exchange, with mistakes of the receiver. */
export function Test() {
  const { application } = useApplication();
  const loaded = useEventTypes();
  const [type, choice] = useTypeChoice(loaded.data ?? []);
  return (
    <>
      <Head title="Test">
        Send a signed sample event to your webhook, as a delivery would be sent, and see the response.
      </Head>
      {application.webhook_url === null && (
        <Notice tone="warn" title="No webhook URL is set.">
          <div class="row">
            <LinkButton href={to("/webhook")}>Set the webhook URL</LinkButton>
          </div>
        </Notice>
      )}
      <Read of={loaded}>
        {() =>
          type && (
            <Sample key={`${type.name} ${type.version}`} type={type}>
              {choice}
            </Sample>
          )
        }
      </Read>
    </>
  );
}

/** The form of a sample, and its exchange. The children select the type. */
function Sample({ type, children }: { type: EventType; children: ComponentChildren }) {
  const [data, setData] = useState<Readonly<Record<string, unknown>>>(type.example);
  const [exchange, setExchange] = useState<Exchange | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const send = useAction(async () => {
    setProgress(null);
    const body = { event: type.name, version: type.version, data };
    const { signal } = abort.current;
    const beganAt = Date.now();
    let isEnded = false;
    const stream = await openStream("/public/v1/events/test/stream", signal, body);
    for await (const event of serverSentEvents(chunksOf(stream))) {
      const data: unknown = JSON.parse(event.data ?? "null");
      if (event.type === "request") {
        setExchange(null);
        setProgress({ beganAt, request: data as Exchange["request"], passed: [] });
      } else if (event.type === "stage")
        setProgress((last) => last && { ...last, passed: [...last.passed, data as Passed] });
      else if (event.type === "exchange") {
        isEnded = true;
        setExchange(data as Exchange);
      }
    }
    if (!isEnded) throw new Fault("The connection was lost before the test ended.", "unreachable", 0);
  });
  return (
    <div class="columns even">
      <Card>
        <Form label="Sample" of={send} verb="Send the sample" icon={Send}>
          {children}
          <SchemaForm schema={type.schema} value={data} onInput={setData} />
        </Form>
      </Card>
      <div class="stack wide">
        <p class="visually-hidden" role="status">
          {exchange && !send.isBusy ? outcomeOf(exchange) : send.isBusy && "In progress"}
        </p>
        {send.isBusy && !exchange && progress && <InProgress progress={progress} />}
        {exchange && <ExchangeStory exchange={exchange} />}
        {!exchange && !send.isBusy && (
          <Card>
            <Empty
              title="No test sent yet"
              text="Choose an event, edit its data if necessary, and send it. A test does not count as a delivery."
            />
          </Card>
        )}
      </div>
    </div>
  );
}

interface Passed {
  readonly stage: "dns" | "connect" | "tls" | "sent" | "first_byte";
  readonly at_ms: number;
}

/** A test that has not ended. */
interface Progress {
  readonly beganAt: number;
  readonly request: Exchange["request"];
  readonly passed: readonly Passed[];
}

/** The stages of a test, each with its texts before, during and after it. */
const stages = [
  ["dns", "DNS", "Resolving the host name…", "Host name resolved"],
  ["connect", "Connection", "Connecting…", "Connected"],
  ["tls", "TLS", "TLS handshake…", "TLS established"],
  ["sent", "Request", "Sending the request…", "Request sent"],
  ["first_byte", "Response", "Waiting for the response: the receiver has 15 seconds…", "Response received"],
] as const;

/** A running test. All stages are listed from the start, so that the layout does not move. */
function InProgress({ progress: { beganAt, request, passed } }: { progress: Progress }) {
  const expected = stages.filter(([name]) => name !== "tls" || request.url.startsWith("https:"));
  const current = expected.findLastIndex(([name]) => passed.some(({ stage }) => stage === name)) + 1;
  return (
    <>
      <Card title="In progress" actions={<Elapsed since={beganAt} />}>
        <ol class="timeline">
          {expected.map(([name, before, doing, done], i) => {
            const at = passed.find(({ stage }) => stage === name)?.at_ms;
            return (
              <li key={name} class={i < current ? "ok" : i > current ? "muted" : ""}>
                <div class="row between">
                  <span>{i < current ? done : i > current ? before : doing}</span>
                  <span class="muted nowrap">{at !== undefined && `after ${duration(at)}`}</span>
                </div>
              </li>
            );
          })}
        </ol>
      </Card>
      <Card title={`POST ${request.url}`}>
        <Request request={request} />
      </Card>
    </>
  );
}

const outcomeOf = ({ delivered, duration_ms }: Exchange) =>
  delivered ? `Delivered in ${duration(duration_ms)}.` : "The event would not have been delivered.";

function ExchangeStory({ exchange }: { exchange: Exchange }) {
  const { delivered, problem, request, response, error, duration_ms, timings } = exchange;
  return (
    <>
      <Notice tone={delivered ? (problem ? "warn" : "ok") : "bad"} title={outcomeOf(exchange)}>
        {problem && <p>{problem}</p>}
        {!delivered && error && error !== problem && <p class="muted">{error}</p>}
      </Notice>
      <Card title="Timings" actions={<span class="muted">{duration(duration_ms)}</span>}>
        <Stages timings={timings} totalMs={duration_ms} />
      </Card>
      <Card title={response ? `Response ${response.status}` : "No response"}>
        {response ? (
          <div class="stack tight">
            <HeaderLines headers={response.headers} label="Response headers" />
            {response.body && <Code text={response.body} label="Response body" />}
          </div>
        ) : (
          <p class="muted">No response was received.</p>
        )}
      </Card>
      <Card title={`POST ${request.url}`}>
        <Request request={request} />
      </Card>
    </>
  );
}
