/** Requests that are right, nearly right and wrong, the same ones for the same seed. */
export class RequestFuzz {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to 1 (mulberry32). */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  }

  /** From 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor(this.random() * below);
  }

  chance(of: number): boolean {
    return this.random() < of;
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.int(from.length)] ?? from[0];
  }

  /** What a client sends on one connection: a few requests, each byte a character. */
  input(): string {
    const requests = Array.from({ length: 1 + this.int(4) }, () => this.#request());
    const text = requests.join(this.chance(0.05) ? "\r\n" : "");
    const mutations = this.chance(0.5) ? 0 : 1 + this.int(3);
    return Array.from({ length: mutations }).reduce<string>((mutated) => this.#mutate(mutated), text);
  }

  /** The input in up to `most` pieces. */
  divide(input: string, most: number): string[] {
    const cuts = Array.from({ length: this.int(most) }, () => this.int(input.length + 1)).sort(
      (a, b) => a - b,
    );
    return [...cuts, input.length].map((cut, i) => input.slice(cuts[i - 1] ?? 0, cut));
  }

  #request(): string {
    const method = this.pick([
      "GET",
      "GET",
      "GET",
      "HEAD",
      "POST",
      "POST",
      "PUT",
      "DELETE",
      "OPTIONS",
      "FOO",
    ]);
    const target = this.pick([
      "/",
      "/a",
      "/b?c=d",
      "/late",
      "/late/e",
      "/stream",
      "/none",
      "/large",
      "//",
      "/%zz",
      "*",
    ]);
    const version = this.chance(0.9) ? "HTTP/1.1" : this.pick(["HTTP/1.0", "HTTP/1.2", "HTTP/2.0", ""]);
    const lines = [`${method} ${this.chance(0.05) ? "http://h:1" : ""}${target} ${version}`];
    if (this.chance(0.97)) lines.push(`Host: ${this.pick(["a", "h:1", "[::1]", "", "a.b:80"])}`);
    while (this.chance(0.3)) lines.push(this.#line());
    const body = this.chance(method === "GET" ? 0.1 : 0.7) ? this.#body(lines) : "";
    return `${lines.join("\r\n")}\r\n\r\n${body}`;
  }

  #line(): string {
    return this.pick([
      "Connection: keep-alive",
      "Connection: close",
      "Connection: x, close",
      "Expect: 100-continue",
      "Expect: x",
      "X: \t y \t",
      "X: caf\xe9",
      "x:",
      "X-A: b",
      "Accept: a, b",
      "Upgrade: h2c",
      `X: ${"x".repeat(this.int(200))}`,
      "Host: b",
      "Content-Length: 3",
      "Content-Length: 0",
      "Transfer-Encoding: identity",
      "Transfer-Encoding : chunked",
      "Transfer-Encoding: chunked\xa0",
      "X: y\r\n folded",
    ]);
  }

  /** A body, after it has said its length in `lines`. */
  #body(lines: string[]): string {
    const data = this.pick([
      "abc",
      "",
      "GET / HTTP/1.1\r\n\r\n",
      "0\r\n\r\n",
      "x".repeat(this.int(300)),
      "\0\xff\r\n",
    ]);
    if (this.chance(0.5)) {
      lines.push(`${this.pick(["Content-Length", "content-length", "CONTENT-LENGTH"])}: ${data.length}`);
      return data;
    }
    lines.push(
      this.pick(["Transfer-Encoding: chunked", "transfer-encoding:Chunked", "TRANSFER-ENCODING: chunked "]),
    );
    const at = this.int(data.length + 1);
    const chunks = [data.slice(0, at), data.slice(at)].filter((chunk) => chunk !== "");
    const extension = () => (this.chance(0.1) ? this.pick([";a", ";a=b", ';a="b;c"', " ;a", ";", " "]) : "");
    const size = ({ length }: string) => (this.chance(0.2) ? "0" : "") + length.toString(16);
    const sent = chunks.map((chunk) => `${size(chunk)}${extension()}\r\n${chunk}\r\n`).join("");
    const trailers = this.chance(0.1)
      ? this.pick(["X: y\r\n", "X: y\r\nZ:\r\n", "X : y\r\n", "\ty\r\n"])
      : "";
    return `${sent}0${extension()}\r\n${trailers}\r\n`;
  }

  #mutate(text: string): string {
    const at = this.int(text.length + 1);
    const to = at + this.int(this.chance(0.8) ? 4 : 200);
    return this.pick([
      () => text.slice(0, at) + this.#noise() + text.slice(at),
      () => text.slice(0, at) + this.#noise() + text.slice(to),
      () => text.slice(0, at) + text.slice(to),
      () => text.slice(0, to) + text.slice(at),
      () => text.slice(0, at),
      // Where it matters most.
      () => text.replace(/\r\n/, () => this.#noise()),
      () => text.replace(/:/, () => this.#noise()),
      () => text.replace(/\r\n\r\n/, () => this.#noise()),
      () => text.replace(/[0-9]+\r\n/, () => `${this.#noise()}\r\n`),
    ])();
  }

  #noise(): string {
    return this.pick([
      "\r",
      "\n",
      "\r\n",
      "\r\n\r\n",
      "\n\n",
      "\0",
      " ",
      "\t",
      ":",
      ",",
      ";",
      "\x7f",
      "\xa0",
      "\xff",
      "0",
      "-1",
      "ffffffffffffffff",
      "99999999999999999999",
      "Content-Length: 5\r\n",
      "Transfer-Encoding: chunked\r\n",
      "0\r\n\r\n",
      "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
      String.fromCharCode(this.int(256)),
    ]);
  }
}
