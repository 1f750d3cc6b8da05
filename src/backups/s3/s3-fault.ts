import { DomainError } from "../../domain/errors.ts";

/** Why S3 did not do what it was asked. The message says what to do. */
export class S3Fault extends DomainError {
  constructor(
    message: string,
    /** Whether the same request may succeed a little later. */
    readonly isPassing: boolean,
    /** The code of S3 itself; "" without one. */
    readonly reason = "",
  ) {
    super("unavailable", message, { retryAfterSeconds: 60 });
  }
}

/** The storage as it is named in a sentence. */
interface Named {
  /** The address of the server. */
  readonly host: string;
  readonly bucket: string;
  readonly region: string;
}

/** The fault of an answer that is an error. */
export function answeredFault(status: number, body: string, { host, bucket, region }: Named): S3Fault {
  const reason = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(body)?.[1] ?? "";
  const said = `${status}${reason === "" ? "" : ` ${reason}`}`;
  const isPassing = status === 408 || status === 429 || status >= 500;
  const advice = adviceOf(status, reason, bucket, region);
  return new S3Fault(`S3 at ${host} answers ${said}: ${advice}`, isPassing, reason);
}

function adviceOf(status: number, reason: string, bucket: string, region: string): string {
  if (reason === "RequestTimeTooSkewed")
    return "the clock here is more than 15 minutes off; set it, by NTP if possible.";
  if (reason === "NoSuchBucket") return `make the bucket ${bucket}, or name another with --backup-to.`;
  if (reason === "NoSuchKey") return "the backup is not there any more.";
  if (reason === "InvalidAccessKeyId" || reason === "SignatureDoesNotMatch" || reason === "ExpiredToken")
    return "the credentials are not right; correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or their file.";
  if (status === 401 || status === 403)
    return `let these credentials list, read, write and delete in the bucket ${bucket}.`;
  if (status === 301 || status === 307 || reason === "AuthorizationHeaderMalformed")
    return `the bucket ${bucket} is not in the region ${region}; set --backup-region.`;
  if (status === 404) return "look at --backup-to and --backup-endpoint.";
  if (status === 408 || status === 429 || status >= 500)
    return "it is too busy or has a fault; try again later.";
  return "look at --backup-to, --backup-endpoint and --backup-region.";
}

/** The fault of a request without a whole answer. */
export function brokenFault(error: unknown, host: string, timeoutMs: number): DomainError {
  if (error instanceof DomainError) return error;
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  if (name === "TimeoutError" || name === "AbortError")
    return new S3Fault(`S3 at ${host} says nothing for ${timeoutMs / 1000} s: look whether it runs.`, true);
  const isRefused = code === "ConnectionRefused" || code === "ECONNREFUSED";
  const what = isRefused ? "cannot be reached" : "broke the connection off";
  return new S3Fault(
    `S3 at ${host} ${what} (${code ?? message}): look at --backup-endpoint and the network.`,
    true,
  );
}
