import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { AwsV4Signer } from "aws4fetch";
import { fitsHeader } from "../../client/tokens.ts";
import { DomainError } from "../../domain/errors.ts";
import { beginningOf } from "../../runtime/files.ts";
import { baseUrl } from "../../server/settings/setting-values.ts";
import type { AwsVariables, DestinationSettings } from "./destination.ts";

/** A failed request to S3. The message says what to do. */
export class S3Fault extends DomainError {
  constructor(
    message: string,
    /** Whether the same request may succeed when it is repeated. */
    readonly isTransient: boolean,
    /** The error code of S3; "" without one. */
    readonly reason = "",
  ) {
    super("unavailable", message, { retryAfterSeconds: 60 });
  }
}

/** The storage, as messages name it. */
interface Named {
  /** The address of the server. */
  readonly host: string;
  readonly bucket: string;
  readonly region: string;
}

/** The error for an answer with an error status. */
function answeredFault(status: number, body: string, { host, bucket, region }: Named): S3Fault {
  const reason = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(body)?.[1] ?? "";
  const said = `${status}${reason === "" ? "" : ` ${reason}`}`;
  const isTransient = status === 408 || status === 429 || status >= 500;
  const advice = adviceOf(status, reason, bucket, region);
  return new S3Fault(`S3 at ${host} answered ${said}: ${advice}`, isTransient, reason);
}

function adviceOf(status: number, reason: string, bucket: string, region: string): string {
  if (reason === "RequestTimeTooSkewed")
    return "the clock of this machine is more than 15 minutes off; set it, by NTP if possible.";
  if (reason === "NoSuchBucket") return `create the bucket ${bucket}, or set another with --backup-to.`;
  if (reason === "NoSuchKey") return "the backup no longer exists.";
  if (reason === "InvalidAccessKeyId" || reason === "SignatureDoesNotMatch" || reason === "ExpiredToken")
    return "the credentials are wrong; correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or their file.";
  if (status === 401 || status === 403)
    return `let these credentials list, read, write and delete in the bucket ${bucket}.`;
  if (status === 301 || status === 307 || reason === "AuthorizationHeaderMalformed")
    return `the bucket ${bucket} is not in the region ${region}; set --backup-region.`;
  if (status === 404) return "check --backup-to and --backup-endpoint.";
  if (status === 408 || status === 429 || status >= 500)
    return "it is overloaded or has failed; try again later.";
  return "check --backup-to, --backup-endpoint and --backup-region.";
}

/** The error for a request without a complete answer. */
function brokenFault(error: unknown, host: string, timeoutMs: number): DomainError {
  if (error instanceof DomainError) return error;
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  if (name === "TimeoutError" || name === "AbortError")
    return new S3Fault(
      `S3 at ${host} did not respond for ${timeoutMs / 1000} s: check that it is running.`,
      true,
    );
  const isRefused = code === "ConnectionRefused" || code === "ECONNREFUSED";
  const what = isRefused ? "cannot be reached" : "closed the connection";
  return new S3Fault(
    `S3 at ${host} ${what} (${code ?? message}): check --backup-endpoint and the network.`,
    true,
  );
}

interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * Reads the credentials from the variables of AWS, else from the file of AWS's own tools. They are read for each
 * backup, so a file may be replaced while the server runs. Throws `unavailable`.
 */
export function readCredentials(aws: AwsVariables): S3Credentials {
  const credentials = foundCredentials(aws);
  const { accessKeyId, sessionToken = "" } = credentials;
  // The key id stands within a header, where white space is not removed.
  if (/^[\x21-\x7e]+$/.test(accessKeyId) && fitsHeader(sessionToken)) return credentials;
  throw new DomainError(
    "unavailable",
    "The credentials for S3 (AWS_ACCESS_KEY_ID, AWS_SESSION_TOKEN) have invalid characters: check that they were copied correctly.",
  );
}

function foundCredentials(aws: AwsVariables): S3Credentials {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = aws;
  if (AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY) {
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  }
  const file = aws.AWS_SHARED_CREDENTIALS_FILE ?? join(homedir(), ".aws", "credentials");
  const profile = aws.AWS_PROFILE ?? "default";
  const values = profileIn(textOf(file), profile);
  const [accessKeyId, secretAccessKey, sessionToken] = [
    values["aws_access_key_id"],
    values["aws_secret_access_key"],
    values["aws_session_token"],
  ];
  if (accessKeyId && secretAccessKey)
    return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
  throw new DomainError(
    "unavailable",
    `No credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into ${file} under [${profile}].`,
  );
}

/** Reads a file. Returns "" when it cannot be read. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The values of a section of an INI file. */
function profileIn(text: string, profile: string): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  let section = "";
  for (const line of text.split(/\r?\n/)) {
    section = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1] ?? section;
    const [, name, value] = /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/i.exec(line) ?? [];
    if (section === profile && name !== undefined && value !== undefined) values[name.toLowerCase()] = value;
  }
  return values;
}

interface S3Request {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** The key of the object; empty for the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Overrides the time limit of all requests. */
  readonly timeoutMs?: number;
  /** The most bytes of the answer. */
  readonly answerBytes?: number;
}

/** Retries and time limits of requests to S3. */
export interface S3Patience {
  /** The most attempts of a request that fails with a transient error. */
  readonly attempts: number;
  /** The pause before the second attempt; it doubles for each further one. */
  readonly pauseMs: number;
  /** The time limit for an answer, and for the next bytes of a streamed answer. */
  readonly timeoutMs: number;
  /** The time limit for the upload of a part: enough for 8 MiB at 28 kB/s. */
  readonly partTimeoutMs: number;
}

const patient: S3Patience = { attempts: 4, pauseMs: 1_000, timeoutMs: 60_000, partTimeoutMs: 300_000 };

/** The most bytes of answers. A page of a list has at most 1,000 keys of 1,024 bytes, each with entities. */
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

  /** Sends a request without retries, and yields the bytes of the answer as they arrive. */
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

/** The most entries of a list that S3 puts into one answer. */
const mostEntries = 1_000;
/** The longest text of a field: a key has 1,024 bytes, each of which may be an entity of six characters. */
const mostCharacters = 8_192;

/**
 * Returns the contents of all elements of this name without attributes in the XML of an answer, in linear time. Throws
 * `S3Fault`, also when there are more than S3 puts into one answer.
 */
export function elements(xml: string, name: string): string[] {
  const [start, end] = [`<${name}>`, `</${name}>`];
  const found: string[] = [];
  for (let at = xml.indexOf(start); at !== -1; at = xml.indexOf(start, at)) {
    const to = xml.indexOf(end, at);
    if (to === -1) throw unreadable(`an incomplete ${name}`);
    if (found.length === mostEntries) throw unreadable(`more than ${mostEntries} entries at once`);
    found.push(xml.slice(at + start.length, to));
    at = to + end.length;
  }
  return found;
}

/** The text of the first element of this name; "" without one. Throws `S3Fault`. */
export function field(xml: string, name: string): string {
  const start = `<${name}>`;
  const at = xml.indexOf(start);
  if (at === -1) return "";
  const from = at + start.length;
  const to = xml.indexOf("<", from);
  if (to === -1 || !xml.startsWith(`</${name}>`, to)) throw unreadable(`an incomplete ${name}`);
  if (to - from > mostCharacters) throw unreadable(`a ${name} of more than ${mostCharacters} characters`);
  return xml.slice(from, to).replace(/&[a-z]{2,4};/g, (entity) => entities[entity] ?? entity);
}

function unreadable(what: string): S3Fault {
  return new S3Fault(`S3 sent ${what}: check --backup-endpoint.`, false);
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
};
