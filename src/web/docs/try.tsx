import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, Notice } from "../parts/basics.tsx";
import { Code } from "../parts/code.tsx";
import { Field } from "../parts/form.tsx";
import { Dialog } from "../parts/overlays.tsx";
import type { OpenApiDocument, Operation, Parameter } from "../site/openapi.ts";
import { urlOf } from "../site/samples.ts";

/*
 * Sends a request of the API reference from the page. Credentials are kept only while the page is open.
 */

/** What the reader typed: the values of parameters by name, the body, and credentials. */
interface Typed {
  readonly values: Readonly<Record<string, string>>;
  readonly body: string;
  readonly token: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

interface Answer {
  readonly status: string;
  readonly isOk: boolean;
  readonly head: string;
  readonly body: string;
}

let kept = { token: "", clientId: "", clientSecret: "" };

/** The most that is read of an answer, and for how long: an event stream has no end. */
const maxCharacters = 64 * 1024;
const patienceMs = 10_000;

const form = "application/x-www-form-urlencoded";

/** Adds a button to each operation on the page. @param docs the URL of the documentation, without a trailing slash */
export function requestButtons(docs: string): void {
  const place = document.body.appendChild(document.createElement("div"));
  const close = () => render(null, place);
  for (const section of document.querySelectorAll<HTMLElement>(".operation[data-method]")) {
    const { method = "", path = "" } = section.dataset;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button small try";
    button.textContent = "Send a request";
    button.addEventListener("click", () =>
      render(<RequestDialog docs={docs} method={method} path={path} onClose={close} />, place),
    );
    section.querySelector(".access, p")?.after(button);
  }
}

interface RequestProps {
  readonly docs: string;
  readonly method: string;
  readonly path: string;
  readonly onClose: () => void;
}

function RequestDialog({ docs, method, path, onClose }: RequestProps) {
  const [operation, setOperation] = useState<Operation | null>(null);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    operationAt(docs, method, path).then(setOperation, () => setLost(true));
  }, []);
  const title = `${method} ${path}`;
  if (operation) return <RequestForm {...{ docs, method, path, operation, onClose }} title={title} />;
  return (
    <Dialog title={title} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      {isLost && <Notice tone="bad" isAlert title="The server cannot be reached." />}
    </Dialog>
  );
}

async function operationAt(docs: string, method: string, path: string): Promise<Operation> {
  const answer = await fetch(`${docs}/../openapi.json`);
  const { paths } = (await answer.json()) as OpenApiDocument;
  const found = paths[path]?.[method.toLowerCase()];
  if (!found) throw new Error(`The document has no ${method} ${path}`);
  return found;
}

function RequestForm(props: RequestProps & { readonly title: string; readonly operation: Operation }) {
  const { docs, method, path, operation, title, onClose } = props;
  const parameters = (operation.parameters ?? []).filter(
    (parameter): parameter is Parameter =>
      "in" in parameter && (parameter.in === "path" || parameter.in === "query"),
  );
  const [type = "", content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const [typed, setTyped] = useState<Typed>(() => ({
    values: Object.fromEntries(
      parameters.map(({ name, required, example }) => [name, required ? textOf(example) : ""]),
    ),
    body: content ? bodyText(type, content.example) : "",
    ...kept,
  }));
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (part: Partial<Typed>) => setTyped((before) => ({ ...before, ...part }));
  const schemes = (operation.security ?? []).flatMap((way) => Object.keys(way));
  const isClient = schemes.includes("clientCredentials");
  const send = async (event: Event) => {
    event.preventDefault();
    kept = { token: typed.token, clientId: typed.clientId, clientSecret: typed.clientSecret };
    setBusy(true);
    setAnswer(
      await answerTo(`${docs}/..${pathOf(path, parameters, typed.values)}`, method, type, typed, isClient),
    );
    setBusy(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={send} aria-label={title}>
        {isClient ? (
          <>
            <Field label="Client id" value={typed.clientId} onInput={(clientId) => set({ clientId })} />
            <Field
              label="Client secret"
              type="password"
              autocomplete="off"
              value={typed.clientSecret}
              onInput={(clientSecret) => set({ clientSecret })}
            />
          </>
        ) : (
          schemes.length > 0 && (
            <Field
              label={schemes.includes("operatorKey") ? "Operator key" : "Access token"}
              type="password"
              autocomplete="off"
              value={typed.token}
              onInput={(token) => set({ token })}
            />
          )
        )}
        {parameters.map(({ name, required = false }) => (
          <Field
            key={name}
            label={name}
            hint={required ? undefined : "may be empty"}
            required={required}
            value={typed.values[name] ?? ""}
            onInput={(value) => set({ values: { ...typed.values, [name]: value } })}
          />
        ))}
        {content && (
          <Field
            label={`Body, as ${type}`}
            isCode
            rows={8}
            value={typed.body}
            onInput={(body) => set({ body })}
          />
        )}
        <div class="row end">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" isBusy={isBusy}>
            Send
          </Button>
        </div>
      </form>
      <div aria-live="polite" class="stack tight">
        {answer && (
          <>
            <strong class={answer.isOk ? "" : "bad"}>{answer.status}</strong>
            {answer.body && <Code text={answer.body} label="Answer" />}
            {answer.head && (
              <details>
                <summary>Headers</summary>
                <Code text={answer.head} label="Headers" />
              </details>
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}

const textOf = (value: unknown) =>
  value === undefined ? "" : Array.isArray(value) ? value.join() : String(value);

/** Returns the example of a body as the reader edits it. A form has one field on each line. */
function bodyText(type: string, example: unknown): string {
  if (typeof example === "string") return example;
  if (type !== form) return JSON.stringify(example ?? {}, null, 2);
  return Object.entries((example ?? {}) as object)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

/** Returns the lines `name=value` as a form. */
function formOf(lines: string): string {
  const pairs = lines.split("\n").filter((line) => line.includes("="));
  return new URLSearchParams(
    pairs.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  ).toString();
}

function pathOf(path: string, parameters: readonly Parameter[], values: Typed["values"]): string {
  const typed = (place: string) =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name }) => ({ name, value: values[name] ?? "" }));
  return urlOf({ url: path, path: typed("path"), query: typed("query").filter(({ value }) => value !== "") });
}

async function answerTo(
  url: string,
  method: string,
  type: string,
  { body, token, clientId, clientSecret }: Typed,
  isClient: boolean,
): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (isClient && clientId) headers["authorization"] = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
  else if (token) headers["authorization"] = `Bearer ${token.trim()}`;
  if (type) headers["content-type"] = type;
  const sent = type === form ? formOf(body) : body;
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), patienceMs);
  try {
    const started = performance.now();
    const init = {
      method,
      headers,
      ...(type && { body: sent }),
      credentials: "omit",
      signal: ending.signal,
    } as const;
    const response = await fetch(url, init);
    const tookMs = Math.round(performance.now() - started);
    const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const status = `${response.status} ${response.statusText} after ${tookMs} ms`;
    return { status, isOk: response.ok, head, body: await readOf(response, ending) };
  } catch {
    return { status: "No answer: the server cannot be reached.", isOk: false, head: "", body: "" };
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the beginning of an answer. */
async function readOf(response: Response, ending: AbortController): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    while (reader && text.length < maxCharacters) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
  } catch {
    // The time is over.
  }
  ending.abort();
  return text === "" ? "" : `${text.slice(0, maxCharacters)}\n…`;
}
