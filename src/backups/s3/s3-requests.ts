import { AwsV4Signer } from "aws4fetch";
import { DomainError } from "../../domain/errors.ts";
import { baseUrl } from "../../runtime/base-url.ts";
import { beginningOf } from "../../runtime/file-stream.ts";
import type { AwsVariables, DestinationSettings } from "../destination.ts";
import { readCredentials } from "./credentials.ts";
import { answeredFault, brokenFault, S3Fault } from "./s3-fault.ts";

interface S3Request {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** Empty for the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Overrides the time limit of all requests. */
  readonly timeoutMs?: number;
  /** The longest answer. */
  readonly answerBytes?: number;
}

/** Retries and time limits of requests to S3. */
export interface S3Patience {
  /** The most attempts of a request that fails with a transient error. */
  readonly attempts: number;
  /** The pause before the second attempt; it doubles for each further one. */
  readonly pauseMs: number;
  /** The limit for an answer, and for the next bytes of a streamed one. */
  readonly timeoutMs: number;
  /** The limit for the upload of a part: enough for 8 MiB at 28 kB/s. */
  readonly partTimeoutMs: number;
}

const patient: S3Patience = { attempts: 4, pauseMs: 1_000, timeoutMs: 60_000, partTimeoutMs: 300_000 };

/** A page of a list has at most 1,000 keys of 1,024 bytes, each with entities. */
const mostBytes = { list: 8 * 1024 * 1024, answer: 64 * 1024, error: 16 * 1024 };

type S3Settings = Extract<DestinationSettings, { kind: "s3" }>;

/** Sends signed requests to a bucket, with time limits and retries. Failures reject with an `S3Fault`. */
export class S3Requests {
  readonly patience: S3Patience;
  readonly #root: URL;
  readonly #bucket: string;
  readonly #region: string;
  readonly #aws: AwsVariables;

  constructor({ bucket, endpoint, region, aws }: S3Settings, patience = patient) {
    this.patience = patience;
    this.#aws = aws;
    this.#bucket = bucket;
    this.#region = region ?? aws.AWS_REGION ?? aws.AWS_DEFAULT_REGION ?? "us-east-1";
    const other = endpoint ?? aws.AWS_ENDPOINT_URL_S3 ?? aws.AWS_ENDPOINT_URL ?? null;
    this.#root = new URL(other === null ? ofAws(bucket, this.#region) : `${checked(other)}/${bucket}/`);
  }

  /** Sends a request and returns the body of the answer. */
  async text(request: S3Request): Promise<string> {
    return (await this.answer(request)).text;
  }

  /** Returns a page of a list of the bucket, as XML. */
  async list(query: Readonly<Record<string, string>>): Promise<string> {
    return this.text({ method: "GET", query, answerBytes: mostBytes.list });
  }

  /** Sends a request and returns the body of the answer with its headers. */
  async answer(request: S3Request): Promise<{ readonly text: string; readonly headers: Headers }> {
    const { timeoutMs = this.patience.timeoutMs, answerBytes = mostBytes.answer } = request;
    return this.repeated(async () => {
      try {
        const { headers, body } = await this.#send(request, AbortSignal.timeout(timeoutMs));
        const bytes = await beginningOf(body, answerBytes + 1);
        if (bytes.length <= answerBytes) return { text: bytes.toString(), headers };
        throw new S3Fault(`S3 at ${this.#root.host} sent more than ${answerBytes} bytes.`, false);
      } catch (error) {
        throw brokenFault(error, this.#root.host, timeoutMs);
      }
    });
  }

  /** Sends a request and yields the bytes of the answer as they arrive. Not retried. */
  async *bytes(request: S3Request): AsyncGenerator<Uint8Array> {
    const { timeoutMs } = this.patience;
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(), timeoutMs);
    const isRest = request.headers?.["range"]?.startsWith("bytes=0-") === false;
    const reader = await this.#send(request, silent.signal)
      .then(({ status, body }) => {
        if (isRest && status !== 206)
          throw new S3Fault(`S3 at ${this.#root.host} does not support ranges.`, false);
        return body?.getReader();
      })
      .catch((error) => {
        clearTimeout(timer);
        throw brokenFault(error, this.#root.host, timeoutMs);
      });
    try {
      for (;;) {
        const part = await reader?.read().catch((error) => {
          throw brokenFault(error, this.#root.host, timeoutMs);
        });
        clearTimeout(timer);
        if (!part || part.done) return;
        yield part.value;
        timer = setTimeout(() => silent.abort(), timeoutMs);
      }
    } finally {
      clearTimeout(timer);
      silent.abort();
    }
  }

  /** Repeats `work` while it fails with a transient error. */
  async repeated<T>(work: () => Promise<T>): Promise<T> {
    const { attempts, pauseMs } = this.patience;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof S3Fault && error.isTransient) || attempt >= attempts) throw error;
      }
      await Bun.sleep(pauseMs * 2 ** (attempt - 1));
    }
  }

  async #send({ method, key = "", query = {}, headers = {}, body }: S3Request, signal: AbortSignal) {
    const url = new URL(this.#root);
    url.pathname += key;
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    // S3 compares the hash with the received body.
    const sha256 = new Bun.CryptoHasher("sha256").update(body ?? "").digest("hex");
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, "x-amz-content-sha256": sha256 },
      service: "s3",
      region: this.#region,
      ...readCredentials(this.#aws),
    });
    const signed = await signer.sign();
    const response = await fetch(signed.url, {
      method,
      headers: signed.headers,
      redirect: "manual",
      signal,
      ...(body && { body }),
    });
    if (response.ok) return response;
    const said = (await beginningOf(response.body, mostBytes.error)).toString();
    const named = { host: this.#root.host, bucket: this.#bucket, region: this.#region };
    throw answeredFault(response.status, said, named);
  }
}

/** The URL of a bucket of AWS. A name with a dot is not covered by the certificate, so it becomes part of the path. */
function ofAws(bucket: string, region: string): string {
  const host = `s3.${region}.amazonaws.com`;
  return bucket.includes(".") ? `https://${host}/${bucket}/` : `https://${bucket}.${host}/`;
}

function checked(endpoint: string): string {
  try {
    return baseUrl(endpoint);
  } catch {
    throw new DomainError(
      "unavailable",
      "AWS_ENDPOINT_URL must be an http or https URL of S3-compatible storage.",
    );
  }
}
