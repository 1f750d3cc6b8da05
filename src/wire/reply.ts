import type { Fields, Head } from "./head.ts";

/** A status line and fields that many answers have in common, as they are sent: copied, they cost next to nothing. */
export interface ReadyHead {
  readonly status: number;
  readonly bytes: Uint8Array;
}

/** @param lines fields as they are sent, each line with its end */
export function readyHead(status: number, lines: string): ReadyHead {
  return { status, bytes: Buffer.from(statusLine(status) + lines, "latin1") };
}

/** An answer, but for what every answer has and what depends on the connection. */
export interface Reply {
  readonly status: number;
  /** Where there is none, the status line is made. */
  readonly ready?: ReadyHead;
  /** Its other fields as they are sent, each line with its end; without date, length and connection. */
  readonly head: string;
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
}

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  417: "Expectation Failed",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  505: "HTTP Version Not Supported",
};

const ok = "HTTP/1.1 200 OK\r\n";
const statusLine = (status: number) => {
  return status === 200 ? ok : `HTTP/1.1 ${status} ${reasons[status] ?? ""}\r\n`;
};

/** The `Date` of an answer (RFC 9110, section 6.6.1), made anew each second. */
export function dateLine(now: () => number = Date.now): () => string {
  let second = Number.NaN;
  let line = "";
  return () => {
    const current = Math.floor(now() / 1000);
    if (current !== second) {
      second = current;
      line = `date: ${new Date(current * 1000).toUTCString()}\r\n`;
    }
    return line;
  };
}

const today = dateLine();

/** What is sent between what is ready and the body. `keep` is whether another request may follow. */
export function headOf({ isHttp11 }: Head, reply: Reply, keep: boolean): string {
  const { status, body } = reply;
  const connection = keep ? (isHttp11 ? "" : "connection: keep-alive\r\n") : "connection: close\r\n";
  return `${reply.ready ? "" : statusLine(status)}${reply.head}${today()}${framing(status, body, isHttp11)}${connection}\r\n`;
}

/** How the client knows where the body ends. */
function framing(status: number, body: Reply["body"], isHttp11: boolean): string {
  if (body instanceof ReadableStream) return isHttp11 ? "transfer-encoding: chunked\r\n" : "";
  if (status === 204 || status === 304) return "";
  return `content-length: ${body?.byteLength ?? 0}\r\n`;
}

/** A part of a body of unknown length (RFC 9112, section 7.1). */
export function chunkOf(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.byteLength.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

export const lastChunk = Buffer.from("0\r\n\r\n");
export const continueLine = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

/** Stands for a request that could not be read. */
export const unread: Head = { method: "GET", target: "/", isHttp11: true, fields: null as unknown as Fields };

/** Nobody takes the answer. */
export function dropped({ body }: Reply): void {
  if (body instanceof ReadableStream) void body.cancel().catch(() => {});
}
