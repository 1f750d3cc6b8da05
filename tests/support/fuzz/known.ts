/** A mark in a generated request for something that the server is known to have: the `index`-th of its kind. */
export const mark = (kind: string, index: number) => `KNOWN${index}OF${kind}END`;

const marks = /KNOWN(\d+)OF([a-z-]+)END/g;
const most = 30;

export const unknown = "unknown";

/** The kinds of parameters and fields that name something, by their names. */
const kinds: Readonly<Record<string, string>> = {
  application_id: "applications",
  app_id: "applications",
  client_id: "clients",
  client_secret: "client-secrets",
  subscription_id: "subscriptions",
  delivery_id: "deliveries",
  replay_id: "replays",
  challenge: "login-requests",
  cursor: "cursors",
  username: "usernames",
  slug: "slugs",
  code: "codes",
  event: "event-types",
  type: "event-types",
  refresh_token: "refresh-tokens",
  access_token: "access-tokens",
};

/**
 * The kind of a parameter or a field. An `id` is of the last fixed part of the path: `/admin/v1/backups/{id}/content`
 * has backups. A `name` is that of an event type where it is about events.
 */
export function kindOf(name: string, path: string): string | undefined {
  if (name === "name" && path.includes("/event")) return "event-types";
  if (name !== "id") return kinds[name];
  return path.split("/{")[0]?.split("/").at(-1);
}

/** What answers have shown, so that later requests can name it: ids, cursors, tokens. Keeps the newest of each kind. */
export class Known {
  readonly #values = new Map<string, string[]>();

  add(kind: string, value: string): void {
    const values = this.#values.get(kind) ?? [];
    if (values.includes(value)) return;
    values.push(value);
    if (values.length > most) values.shift();
    this.#values.set(kind, values);
  }

  /** Learns from the body of an answer to an operation with this path. */
  learn(path: string, body: unknown): void {
    if (typeof body !== "object" || body === null) return;
    for (const [name, value] of Object.entries(body)) {
      if (typeof value === "string" || typeof value === "number") {
        const kind = kindOf(name, path);
        if (kind !== undefined && value !== "") this.add(kind, String(value));
      } else {
        this.learn(path, value);
      }
    }
  }

  /** Puts what is known in place of marks; a kind of which nothing is known gives `unknown`. */
  resolve(text: string): string {
    return text.replace(marks, (_, index: string, kind: string) => {
      const values = this.#values.get(kind) ?? [];
      return values[Number(index) % values.length] ?? unknown;
    });
  }
}
