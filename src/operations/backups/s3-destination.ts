import { day } from "../../domain/time.ts";
import { type ByteRange, streamOf } from "../../runtime/files.ts";
import {
  type BackupDestination,
  type CheckedFile,
  type DestinationSettings,
  ownerFile,
  ownerIn,
} from "./destination.ts";
import { type KeptBackup, readName } from "./files.ts";
import { elements, field, S3Fault, type S3Patience, S3Requests } from "./s3.ts";

const mebibyte = 1024 * 1024;
/** The smallest part of an upload. One part is in memory at a time. */
const leastPartBytes = 8 * mebibyte;
/** The most parts of an upload, below the 10,000 that S3 accepts. */
const mostParts = 9_000;
/** The age from which incomplete uploads are aborted. A younger one may be of another server's current backup. */
const abortedAfterMs = day;
/** The most pages of a list. A page has 1,000 objects, the newest last. */
const mostPages = 100;

/** A bucket of S3-compatible storage as the destination of backups, under a prefix that has nothing else. */
export class S3Destination implements BackupDestination {
  readonly #requests: S3Requests;
  readonly #prefix: string;
  readonly #partBytes: number;
  readonly #now: () => number;

  constructor(
    settings: Extract<DestinationSettings, { kind: "s3" }>,
    {
      patience,
      partBytes = leastPartBytes,
      now = Date.now,
    }: { patience?: S3Patience; partBytes?: number; now?: () => number } = {},
  ) {
    this.#requests = new S3Requests(settings, patience);
    this.#prefix = settings.prefix;
    this.#partBytes = partBytes;
    this.#now = now;
  }

  async list(): Promise<KeptBackup[]> {
    const found: KeptBackup[] = [];
    let token: string | null = null;
    for (let page = 0; page < mostPages; page++) {
      const query = { "list-type": "2", prefix: this.#prefix, ...(token && { "continuation-token": token }) };
      const answer: string = await this.#requests.list(query);
      for (const entry of elements(answer, "Contents")) {
        const read = this.#nameOf(field(entry, "Key"));
        const keptAt = Date.parse(field(entry, "LastModified"));
        if (read) found.push({ ...read, size: Number(field(entry, "Size")), keptAt });
      }
      token = field(answer, "NextContinuationToken");
      if (token === "") return found;
    }
    throw new S3Fault(
      `S3 lists more than ${mostPages} pages: set a prefix with --backup-to that contains nothing but backups.`,
      false,
    );
  }

  /** Uploads the file, in parts if it is large, then reads it back to verify it. */
  async keep(file: CheckedFile, name: string): Promise<void> {
    // If old uploads cannot be aborted, the next backup aborts them.
    await this.#abortOldUploads().catch(() => {});
    const key = this.#prefix + name;
    if (file.size <= this.#partBytes) await this.#putPart(file, { key }, 0, file.size);
    else await this.#putInParts(file, key);
    await this.#verify(file, name);
  }

  read(name: string, range: ByteRange): ReadableStream<Uint8Array> {
    return streamOf(this.#chunks(name, range));
  }

  async remove(name: string): Promise<void> {
    await this.#requests.text({ method: "DELETE", key: this.#prefix + name });
  }

  async owner(): Promise<string | null> {
    try {
      return ownerIn(await this.#requests.text({ method: "GET", key: this.#prefix + ownerFile }));
    } catch (error) {
      if (error instanceof S3Fault && error.reason === "NoSuchKey") return null;
      throw error;
    }
  }

  async claim(id: string): Promise<string> {
    const known = await this.owner();
    if (known !== null) return known;
    // The first call creates the file; the second call tests whether another server could still overwrite it.
    if (!(await this.keepsFirst(id)) && !(await this.keepsFirst(id))) {
      await this.#requests.text(this.#ownedBy(id));
      // The last write wins: another server that found no owner at the same time may still be writing.
      await Bun.sleep(this.#requests.patience.pauseMs);
    }
    return (await this.owner()) ?? id;
  }

  async keepsFirst(id: string): Promise<boolean> {
    try {
      await this.#requests.text({ ...this.#ownedBy(id), headers: { "if-none-match": "*" } });
      return false;
    } catch (error) {
      if (!(error instanceof S3Fault)) throw error;
      if (/^(PreconditionFailed|ConditionalRequestConflict)$/.test(error.reason)) return true;
      if (error.reason !== "NotImplemented") throw error;
      return false;
    }
  }

  #ownedBy(id: string) {
    const body = new TextEncoder().encode(`${id}\n`);
    return { method: "PUT", key: this.#prefix + ownerFile, body } as const;
  }

  #nameOf(key: string): ReturnType<typeof readName> {
    const name = key.startsWith(this.#prefix) ? key.slice(this.#prefix.length) : "/";
    return name.includes("/") ? null : readName(name);
  }

  /** Uploads a part of a file, or all of it; returns its ETag. */
  async #putPart(
    { path }: CheckedFile,
    target: { readonly key: string; readonly query?: Readonly<Record<string, string>> },
    start: number,
    end: number,
  ): Promise<string> {
    const body = await Bun.file(path).slice(start, end).bytes();
    const { partTimeoutMs: timeoutMs } = this.#requests.patience;
    const { headers } = await this.#requests.answer({ method: "PUT", ...target, body, timeoutMs });
    return headers.get("etag") ?? "";
  }

  async #putInParts(file: CheckedFile, key: string): Promise<void> {
    const { partTimeoutMs: timeoutMs } = this.#requests.patience;
    const begun = await this.#requests.text({ method: "POST", key, query: { uploads: "" } });
    const uploadId = field(begun, "UploadId");
    const leastBytes = Math.ceil(file.size / mostParts / mebibyte) * mebibyte;
    const partBytes = file.size / mostParts > this.#partBytes ? leastBytes : this.#partBytes;
    const parts: string[] = [];
    try {
      for (let start = 0; start < file.size; start += partBytes) {
        const partNumber = String(parts.length + 1);
        const end = Math.min(file.size, start + partBytes);
        const tag = await this.#putPart(file, { key, query: { partNumber, uploadId } }, start, end);
        parts.push(`<Part><PartNumber>${partNumber}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`);
      }
      const list = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
      const body = new TextEncoder().encode(list);
      await this.#requests.repeated(async () => {
        const answer = await this.#requests.text({
          method: "POST",
          key,
          query: { uploadId },
          body,
          timeoutMs,
        });
        // S3 may report an error in the body of a 200.
        if (answer.includes("<Error>")) throw new S3Fault("S3 could not assemble the parts.", true);
      });
    } catch (error) {
      // The upload may be complete and only the answer lost: `#verify` finds out.
      if (error instanceof S3Fault && error.reason === "NoSuchUpload") return;
      await this.#abort(key, uploadId).catch(() => {});
      throw error;
    }
  }

  async #verify({ size, sha256 }: CheckedFile, name: string): Promise<void> {
    const hasher = new Bun.CryptoHasher("sha256");
    try {
      for await (const chunk of this.#chunks(name, { start: 0, end: size })) hasher.update(chunk);
      if (hasher.digest("hex") !== sha256)
        throw new S3Fault(
          "The content read back from S3 differs from the uploaded one: the backup was removed there.",
          false,
        );
    } catch (error) {
      await this.remove(name).catch(() => {});
      throw error;
    }
  }

  /** Yields the content in order, and resumes where a connection breaks. */
  async *#chunks(name: string, { start, end }: ByteRange): AsyncGenerator<Uint8Array> {
    const key = this.#prefix + name;
    const { attempts, pauseMs } = this.#requests.patience;
    let failures = 0;
    for (let at = start; at < end; ) {
      try {
        const headers = { range: `bytes=${at}-${end - 1}` };
        for await (const bytes of this.#requests.bytes({ method: "GET", key, headers })) {
          const chunk = bytes.subarray(0, end - at);
          at += chunk.length;
          failures = 0;
          yield chunk;
          if (at === end) return;
        }
        if (at < end)
          throw new S3Fault("S3 sent less than the whole backup: the stored one is incomplete.", true);
      } catch (error) {
        if (!(error instanceof S3Fault && error.isTransient) || ++failures >= attempts) throw error;
        await Bun.sleep(pauseMs * 2 ** (failures - 1));
      }
    }
  }

  /** Aborts uploads that were never completed, for example because the server was killed. */
  async #abortOldUploads(): Promise<void> {
    const answer = await this.#requests.list({ uploads: "", prefix: this.#prefix });
    for (const entry of elements(answer, "Upload")) {
      const key = field(entry, "Key");
      const isOld = Date.parse(field(entry, "Initiated")) < this.#now() - abortedAfterMs;
      if (isOld && this.#nameOf(key)) await this.#abort(key, field(entry, "UploadId"));
    }
  }

  async #abort(key: string, uploadId: string): Promise<void> {
    await this.#requests.text({ method: "DELETE", key, query: { uploadId } });
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`);
}
