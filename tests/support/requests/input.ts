import type { Documented } from "./documented.ts";

/** A mark in a generated request for something that the server is known to have: the `index`-th of its kind. */
export const mark = (kind: string, index: number) => `KNOWN${index}OF${kind}END`;

const marks = /KNOWN(\d+)OF([a-z-]+)END/g;
const most = 30;

const unknown = "unknown";

/** The kinds of parameters and fields that name something, by their names. */
const kinds: Readonly<Record<string, string>> = {
  application_id: "applications",
  app_id: "applications",
  client_id: "clients",
  client_secret: "client-secrets",
  subscription_id: "subscriptions",
  delivery_id: "deliveries",
  event_id: "event-ids",
  replay_id: "replays",
  challenge: "login-requests",
  cursor: "cursors",
  username: "usernames",
  slug: "slugs",
  code: "codes",
  event: "event-types",
  type: "event-types",
  token: "access-tokens",
  refresh_token: "refresh-tokens",
  access_token: "access-tokens",
  after: "times",
  before: "times",
  from: "times",
  to: "times",
  webhook_url: "webhooks",
};

/**
 * The kind of a parameter or a field. An `id` is of the last fixed part of the path: `/admin/v1/backups/{id}/content`
 * has backups. A `name` is that of an event type where it is about events.
 */
export function kindOf(name: string, path: string): string | undefined {
  if (name === "name" && path.includes("/event")) return "event-types";
  if (name !== "id") return kinds[name];
  const kind = path.split("/{")[0]?.split("/").at(-1);
  return kind === "events" ? "event-ids" : kind;
}

/** Kinds that a platform gives, and that answers do not add to. */
const given: ReadonlySet<string> = new Set(["times", "event-ids", "event-types", "webhooks", "slugs"]);

/** What answers have shown, so that later requests can name it: ids, cursors, tokens. Keeps the newest of each kind. */
export class Known {
  readonly #values = new Map<string, string[]>();

  /** @param others has what is not known here */
  constructor(private readonly others?: Known) {}

  add(kind: string, ...added: string[]): void {
    const values = this.#values.get(kind) ?? [];
    values.push(...added.filter((value) => !values.includes(value)));
    this.#values.set(kind, values.slice(-most));
  }

  replace(kind: string, values: readonly string[]): void {
    this.#values.set(kind, [...values]);
  }

  /** Learns from the body of an answer to an operation with this path. */
  learn(path: string, body: unknown): void {
    if (typeof body !== "object" || body === null) return;
    for (const [name, value] of Object.entries(body)) {
      if (typeof value === "string" || typeof value === "number") {
        const kind = kindOf(name, path);
        if (kind !== undefined && value !== "" && !given.has(kind)) this.add(kind, String(value));
      } else {
        this.learn(path, value);
      }
    }
  }

  #of(kind: string): readonly string[] {
    return this.#values.get(kind) ?? (this.others ? this.others.#of(kind) : []);
  }

  /** Puts what is known in place of marks; a kind of which nothing is known gives `unknown`. */
  resolve(text: string): string {
    return text.replace(marks, (_, index: string, kind: string) => {
      const values = this.#of(kind);
      return values[Number(index) % values.length] ?? unknown;
    });
  }
}

/** A generated request; its texts may hold marks of what is known. */
export interface Input {
  readonly operation: Documented;
  readonly path: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly as: "owner" | "user" | "nobody" | "stranger";
  /** Whether it must be refused, whatever the server has. */
  readonly isFaulty?: boolean;
}

/** The request that the document gives as its example, with required parameters only. */
export function validInput(operation: Documented): Input {
  const exampleOf = ({ name, schema, example }: Documented["parameters"][number]) => {
    const { type, enum: choices } = operation.resolved(schema);
    if (type === "integer") return "1";
    const kind = kindOf(name, operation.path);
    return kind === undefined ? String(example ?? choices?.[0] ?? "abc") : mark(kind, 0);
  };
  const of = (place: string) => operation.parameters.filter((parameter) => parameter.in === place);
  const [body] = operation.bodies;
  return {
    operation,
    path: Object.fromEntries(of("path").map((parameter) => [parameter.name, exampleOf(parameter)])),
    query: of("query")
      .filter(({ required }) => required)
      .map((parameter) => [parameter.name, exampleOf(parameter)]),
    headers: body ? { "content-type": body.type } : {},
    body: body ? (typeof body.example === "string" ? body.example : JSON.stringify(body.example)) : null,
    as: "owner",
  };
}

/** The path with its query, and the body, with what is known in place of marks. */
export function written({ operation, path, query, body }: Input, known: Known) {
  const at = operation.path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    segment(known.resolve(path[name] ?? "")),
  );
  const search = query
    .map(([name, value]) => [name, known.resolve(value)] as const)
    .filter(([, value]) => value !== unknown)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .join("&");
  const sent = body === null || operation.method === "GET" ? {} : { body: known.resolve(body) };
  return { method: operation.method, path: `${at}${search && "?"}${search}`, ...sent };
}

/** A part of a path. An empty one, and one of dots alone, would be another path. */
const segment = (text: string) => (/^\.*$/.test(text) ? "dots" : encoded(text));

/** Percent-encoded, also where the text is no Unicode. */
const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
