import { Agent, request } from "node:http";

/** An answer that came over a `Connection`. */
export interface ConnectionAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface ConnectionRequest {
  /** Sent as a bearer token. */
  readonly token?: string;
  /** A form where it is `URLSearchParams`, else JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One TCP connection to a server, kept from request to request: so one thread of it answers all of them. */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  /** @param url where to, without a path */
  constructor(readonly url: string) {}

  send(
    method: string,
    path: string,
    { token, body, headers }: ConnectionRequest = {},
  ): Promise<ConnectionAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<ConnectionAnswer>();
    const isForm = body instanceof URLSearchParams;
    const text = body === undefined || isForm ? body?.toString() : JSON.stringify(body);
    const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
    const sent = request(
      this.url + path,
      {
        agent: this.#agent,
        method,
        headers: {
          ...headers,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(text !== undefined && { "content-type": type }),
        },
      },
      (answer) => {
        let received = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk) => {
          received += chunk;
        });
        answer.on("error", reject);
        answer.on("end", () => {
          const given = new Headers(answer.headers as Record<string, string>);
          resolve({ status: answer.statusCode ?? 0, headers: given, text: received });
        });
      },
    );
    sent.on("error", reject);
    sent.end(text);
    return promise;
  }

  get(path: string, token?: string): Promise<ConnectionAnswer> {
    return this.send("GET", path, token === undefined ? {} : { token });
  }

  close(): void {
    this.#agent.destroy();
  }
}
