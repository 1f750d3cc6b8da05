import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterThisTest } from "./after-tests.ts";

/** A request as tests inspect it. */
export interface S3Call {
  readonly method: string;
  /** The path without the bucket. */
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
}

/**
 * A fault for one request: an answer with this status and code; an endless body; a 200 with this body; no answer; the connection cut before
 * the answer, after this many bytes of it, or after the work was done; the body of a PUT stored differently.
 */
export type S3Fault =
  | { readonly status: number; readonly code: string }
  | { readonly endless: number }
  | { readonly xml: string }
  | { readonly hang: true }
  | { readonly cut: true }
  | { readonly cutAfterBytes: number }
  | { readonly loseAnswer: true }
  | { readonly alter: true };

/** A small S3 server on loopback with objects in memory. It requires a signature but does not verify it. */
export class FakeS3 {
  readonly bucket = "backups";
  readonly objects = new Map<string, { readonly bytes: Buffer; readonly modified: Date }>();
  readonly uploads = new Map<
    string,
    { readonly key: string; readonly parts: Map<number, Buffer>; readonly initiated?: Date }
  >();
  /** Ignores conditional headers, as some storage does. */
  ignoresConditions = false;
  readonly calls: S3Call[] = [];
  /** Called for each request; null means no fault. */
  fault: (call: S3Call) => S3Fault | null = () => null;
  /** Bytes sent so far in endless answers. */
  poured = 0;
  /** The page size of lists. */
  pageSize = 1_000;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  private constructor() {}

  /** In a test or `beforeEach`: stopped after the test. */
  static async own(): Promise<FakeS3> {
    const s3 = new FakeS3();
    await new Promise<void>((resolve) => s3.#server.listen(0, "127.0.0.1", resolve));
    afterThisTest(() => {
      s3.#server.closeAllConnections();
      s3.#server.close();
    });
    return s3;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The calls so far, such as `PUT key`, in order. */
  get story(): string[] {
    const mark = (query: URLSearchParams) =>
      [...query.keys()].filter((name) => ["uploads", "partNumber", "uploadId"].includes(name)).join("&");
    return this.calls.map(({ method, query }) => `${method} ${mark(query)}`.trim());
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.endpoint);
    const [, bucket, ...rest] = decodeURIComponent(url.pathname).split("/");
    const { method = "GET", headers } = request;
    const call: S3Call = { method, key: rest.join("/"), query: url.searchParams, headers };
    this.calls.push(call);
    const fault = this.fault(call);
    if (fault && "hang" in fault) return;
    if (fault && "cut" in fault) {
      request.socket.destroy();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks);
    if (fault && "endless" in fault) return this.#pour(response, fault.endless);
    if (fault && "xml" in fault) return this.#xml(response, fault.xml);
    if (fault && "status" in fault) return this.#refuse(response, fault.status, fault.code);
    if (!headers.authorization?.startsWith("AWS4-HMAC-SHA256 Credential="))
      return this.#refuse(response, 403, "AccessDenied");
    if (bucket !== this.bucket) return this.#refuse(response, 404, "NoSuchBucket");
    if (headers["x-amz-content-sha256"] !== createHash("sha256").update(sent).digest("hex"))
      return this.#refuse(response, 400, "XAmzContentSHA256Mismatch");
    const body = fault && "alter" in fault ? Buffer.concat([sent.subarray(1), Buffer.from("!")]) : sent;
    if (fault && "loseAnswer" in fault) {
      const losing = Object.create(response, { end: { value: () => request.socket.destroy() } });
      return this.#do(call, body, losing, null);
    }
    const cutAfter = fault && "cutAfterBytes" in fault ? fault.cutAfterBytes : null;
    this.#do(call, body, response, cutAfter);
  }

  #do(call: S3Call, body: Buffer, response: ServerResponse, cutAfter: number | null) {
    const { method, key, query } = call;
    const uploadId = query.get("uploadId");
    if (method === "GET" && key === "" && query.has("uploads")) return this.#listUploads(response, query);
    if (method === "GET" && key === "") return this.#list(response, query);
    if (method === "GET") return this.#get(call, response, cutAfter);
    if (method === "POST" && query.has("uploads")) {
      const id = `upload+${this.calls.length}`;
      this.uploads.set(id, { key, parts: new Map() });
      return this.#xml(
        response,
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    if (uploadId !== null) return this.#part(call, uploadId, body, response);
    if (method === "PUT") {
      const isConditional = call.headers["if-none-match"] === "*" && !this.ignoresConditions;
      if (isConditional && this.objects.has(key)) return this.#refuse(response, 412, "PreconditionFailed");
      this.objects.set(key, { bytes: body, modified: new Date() });
      response.setHeader("etag", etag(body));
      response.end();
      return;
    }
    this.objects.delete(key);
    this.#done(response);
  }

  #part({ method, key, query }: S3Call, id: string, body: Buffer, response: ServerResponse) {
    const upload = this.uploads.get(id);
    if (!upload || upload.key !== key) return this.#refuse(response, 404, "NoSuchUpload");
    if (method === "PUT") {
      upload.parts.set(Number(query.get("partNumber")), body);
      response.setHeader("etag", etag(body));
      response.end();
      return;
    }
    this.uploads.delete(id);
    if (method === "DELETE") return this.#done(response);
    const named = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag>/g)];
    const parts = named.map(([, number, tag]) => ({ part: upload.parts.get(Number(number)), tag }));
    if (parts.length === 0 || parts.some(({ part, tag }) => !part || etag(part) !== tag))
      return this.#refuse(response, 400, "InvalidPart");
    const bytes = Buffer.concat(parts.flatMap(({ part }) => part ?? []));
    this.objects.set(key, { bytes, modified: new Date() });
    this.#xml(response, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>");
  }

  #get({ key, headers }: S3Call, response: ServerResponse, cutAfter: number | null) {
    const object = this.objects.get(key);
    if (!object) return this.#refuse(response, 404, "NoSuchKey");
    const { bytes } = object;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? "") ?? [];
    if (Number(first) >= bytes.length) return this.#refuse(response, 416, "InvalidRange");
    const part = first === undefined ? bytes : bytes.subarray(Number(first), Number(last) + 1);
    response.writeHead(first === undefined ? 200 : 206, { "content-length": part.length });
    if (cutAfter === null) response.end(part);
    else response.write(part.subarray(0, cutAfter), () => response.destroy());
  }

  #list(response: ServerResponse, query: URLSearchParams): void {
    const prefix = query.get("prefix") ?? "";
    const names = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    const from = Number(query.get("continuation-token") ?? 0);
    const entries = names.slice(from, from + this.pageSize).map((key) => {
      const { bytes, modified } = this.objects.get(key) ?? { bytes: Buffer.alloc(0), modified: new Date(0) };
      return `<Contents><Key>${key}</Key><LastModified>${modified.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`;
    });
    const next = from + this.pageSize;
    const more = next < names.length ? `<NextContinuationToken>${next}</NextContinuationToken>` : "";
    this.#xml(response, `<ListBucketResult>${entries.join("")}${more}</ListBucketResult>`);
  }

  #listUploads(response: ServerResponse, query: URLSearchParams): void {
    const prefix = query.get("prefix") ?? "";
    const found = [...this.uploads].filter(([, { key }]) => key.startsWith(prefix));
    const entries = found.map(
      ([id, { key, initiated = new Date() }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
    );
    this.#xml(response, `<ListMultipartUploadsResult>${entries.join("")}</ListMultipartUploadsResult>`);
  }

  /** Writes while the client reads, up to a limit far above any size that a client should accept. */
  #pour(response: ServerResponse, status: number): void {
    response.writeHead(status, { "content-type": "application/xml" });
    const chunk = `<Error><Code>SlowDown</Code>${"x".repeat(1 << 16)}`;
    const write = () => {
      while (!response.destroyed && this.poured < 64 << 20) {
        this.poured += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", write);
      }
      response.end();
    };
    write();
  }

  #done(response: ServerResponse): void {
    response.writeHead(204).end();
  }

  #refuse(response: ServerResponse, status: number, code: string): void {
    response.writeHead(status, { "content-type": "application/xml" });
    response.end(`<Error><Code>${code}</Code><Message>what S3 says</Message></Error>`);
  }

  #xml(response: ServerResponse, text: string): void {
    response.writeHead(200, { "content-type": "application/xml" });
    response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`);
  }
}

const etag = (bytes: Buffer) => `"${createHash("md5").update(bytes).digest("hex")}"`;
