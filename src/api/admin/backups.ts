import { type Static, Type } from "@sinclair/typebox";
import { type Backup, backupStatuses } from "../../domain/backups.ts";
import { DomainError } from "../../domain/errors.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import type { BackupKeeper } from "../../operations/backups/backups.ts";
import type { ByteRange } from "../../runtime/files.ts";
import { answerOf, file, linksTo, noContent, pageOf } from "../http/answers.ts";
import { reply } from "../http/context.ts";
import { pagedList } from "../http/cursors.ts";
import { contentRange, header } from "../http/openapi.ts";
import { IsoTimestamp, named, optionalFields, TextParameter } from "../http/parameters.ts";
import { type AdminDeps, type AdminListener, operators, readers, whileAllowed } from "./listener.ts";

const mediaType = "application/vnd.sqlite3";

export const BackupSchema = named("Backup", "A copy of the database.", {
  id: Type.String({ description: "Id of the backup." }),
  status: oneOf(backupStatuses, { description: "Status of the backup." }),
  progress: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "Copied part of the database, from 0 to 1. The copy is then checked.",
  }),
  size_bytes: Type.Integer({ minimum: 0, description: "Bytes written so far." }),
  sha256: nullable(Type.String(), {
    description: "SHA-256 of the content, in hexadecimal; null until the backup is done.",
  }),
  is_encrypted: Type.Boolean({ description: "Whether the content is encrypted for `--backup-recipients`." }),
  error: nullable(Type.String(), { description: "Reason for a failure; null if there is none." }),
  created_at: about(IsoTimestamp, "Time at which the backup began."),
  finished_at: nullable(IsoTimestamp, { description: "Time at which the backup ended; null while it runs." }),
});

const BackupParams = Type.Object({
  id: TextParameter({
    maxLength: 64,
    description: "Id of the backup.",
    examples: ["01KEYN5Z9V5Z8N1F4T7Y0XW3CD"],
  }),
});

const ContentHeaders = Type.Object(
  optionalFields({
    Range: TextParameter({
      description: "One range of bytes, to resume an interrupted download.",
      examples: ["bytes=1048576-"],
    }),
    "If-Range": TextParameter({
      description:
        "`ETag` of the part already received. If it differs from the current one, the whole file is sent.",
    }),
  }),
);

const exampleHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const exampleBackup: Static<typeof BackupSchema> = {
  id: "01KEYN5Z9V5Z8N1F4T7Y0XW3CD",
  status: "done",
  progress: 1,
  size_bytes: 241_754_112,
  sha256: exampleHash,
  is_encrypted: false,
  error: null,
  created_at: "2026-01-14T16:08:06.123Z",
  finished_at: "2026-01-14T16:08:08.871Z",
};
const exampleRunning = {
  ...exampleBackup,
  status: "running",
  progress: 0.412,
  size_bytes: 99_602_694,
  sha256: null,
  finished_at: null,
};

const contentHeaders = {
  ...header("ETag", "SHA-256 of the content.", "string", `"${exampleHash}"`),
  ...header(
    "Repr-Digest",
    "SHA-256 of the content, in the form of RFC 9530.",
    "string",
    `sha-256=:${digest(exampleHash)}:`,
  ),
  ...header("Accept-Ranges", "Ranges of bytes can be requested.", "string", "bytes"),
};

function shownBackup({ created_at, finished_at, ...backup }: Backup): Static<typeof BackupSchema> {
  return {
    ...backup,
    created_at: isoTime(created_at),
    finished_at: isoTimeOrNull(finished_at),
  };
}

const BegunBackup = answerOf(BackupSchema, {
  description: "The backup with its progress.",
  example: exampleRunning,
  links: linksTo({
    getBackup: "Gets the backup with its progress.",
    getBackupContent: "Downloads the file of a finished backup.",
    deleteBackup: "Deletes the backup.",
  }),
});

const FoundBackup = answerOf(BackupSchema, {
  description: "The backup with its progress.",
  example: exampleBackup,
});

const FoundBackups = pageOf(BackupSchema, {
  order: "Backups, the newest first.",
  description: "A page of backups.",
  example: exampleBackup,
});

/** Online backups: create, list, get, download and delete. */
export function backupRoutes(app: AdminListener, options: AdminDeps): void {
  const { backups } = options;
  recordRoutes(app, options);
  contentRoute(app, backups);
}

function recordRoutes(app: AdminListener, { backups, cursors }: AdminDeps): void {
  const list = pagedList("backups", cursors);

  app.post("/admin/v1/backups", async ({ status }) => status(202, shownBackup(await backups.begin())), {
    roles: operators,
    response: { 202: BegunBackup },
    errors: ["conflict"],
    detail: {
      operationId: "createBackup",
      tags: ["Backups"],
      description:
        "Starts a backup of the whole database, including everything acknowledged before this request. One backup runs at a time, in the background. It cannot be canceled; a server that stops abandons it. `--backup-to` sets the destination, and `--keep-backups` the number of backups to keep.",
    },
  });

  app.get(
    "/admin/v1/backups",
    ({ query }) =>
      list.page(query, {
        read: (after: string | null, limit) => backups.page(after ?? "", limit),
        positionOf: ({ id }) => id,
        toJson: shownBackup,
      }),
    {
      roles: readers,
      query: list.query,
      response: { 200: FoundBackups },
      detail: {
        operationId: "getBackups",
        tags: ["Backups"],
        summary: "List Backups",
        description:
          "Returns all backups, the newest first. Failed ones are listed until the server stops. On the last page, `cursor` is empty.",
      },
    },
  );

  app.get("/admin/v1/backups/:id", async ({ params: { id } }) => shownBackup(await backups.find(id)), {
    roles: readers,
    params: BackupParams,
    response: { 200: FoundBackup },
    // With PostgreSQL, On Air makes no backups.
    errors: ["not_found", "conflict"],
    detail: {
      operationId: "getBackup",
      tags: ["Backups"],
      description: "Returns one backup with its progress.",
    },
  });

  app.delete(
    "/admin/v1/backups/:id",
    async ({ params: { id }, status }) => {
      await backups.remove(id);
      return status(204, undefined);
    },
    {
      roles: operators,
      params: BackupParams,
      response: { 204: noContent("The backup was deleted.") },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "deleteBackup",
        tags: ["Backups"],
        description: "Deletes a backup. A running backup cannot be deleted.",
      },
    },
  );
}

function contentRoute(app: AdminListener, backups: BackupKeeper): void {
  app.get(
    "/admin/v1/backups/:id/content",
    async ({ requestContext, params, headers: { Range, "If-Range": ifRange } }) => {
      const { backup, path, read } = await backups.content(params.id);
      const { id, size_bytes: size, sha256, is_encrypted } = backup;
      const etag = `"${sha256}"`;
      const headers = {
        "content-type": is_encrypted ? "application/octet-stream" : mediaType,
        "content-disposition": `attachment; filename="onair-${id}.db${is_encrypted ? ".age" : ""}"`,
        etag,
        "repr-digest": `sha-256=:${digest(sha256 ?? "")}:`,
        "accept-ranges": "bytes",
      };
      // A file body, because Bun sends no Content-Length with a stream.
      if (requestContext.method === "HEAD")
        return reply(requestContext, 200, path && Bun.file(path), headers);
      const range = rangeOf({ range: Range, ifRange }, size, etag);
      const content = whileAllowed(requestContext, read(range ?? { start: 0, end: size }));
      if (!range) return reply(requestContext, 200, content, headers);
      const part = `bytes ${range.start}-${range.end - 1}/${size}`;
      return reply(requestContext, 206, content, { ...headers, "content-range": part });
    },
    {
      roles: operators,
      params: BackupParams,
      headers: ContentHeaders,
      response: {
        200: file("The whole file.", mediaType, contentHeaders),
        206: file("The requested range of the file.", mediaType, { ...contentHeaders, ...contentRange }),
      },
      errors: ["not_found", "conflict", "range_not_satisfiable"],
      detail: {
        operationId: "getBackupContent",
        tags: ["Backups"],
        summary: "Download Backup",
        description:
          "Returns the content of a backup: an SQLite database for `onair restore` or, if it is encrypted, an age file (`application/octet-stream`). It contains signing secrets, so protect it like them. The body is sent in chunks. `size_bytes` has its length, and so has the response to `HEAD` if the backup is in a directory.",
      },
    },
  );
}

/** Converts a hexadecimal hash to base64. */
function digest(sha256: string): string {
  return Buffer.from(sha256, "hex").toString("base64");
}

const oneRange = /^bytes=(?:([0-9]+)-([0-9]*)|-([0-9]+))$/;

/**
 * Returns the requested range (RFC 9110, section 14). Returns null for the whole file: without a range, with
 * several ranges, or when `If-Range` names another version than `etag`. Throws `range_not_satisfiable`.
 */
function rangeOf(
  headers: { readonly range: string | undefined; readonly ifRange: string | undefined },
  size: number,
  etag: string,
): ByteRange | null {
  const [range, first, last, ending] = oneRange.exec(headers.range ?? "") ?? [];
  if (range === undefined || (headers.ifRange ?? etag) !== etag) return null;
  if (first !== undefined && last && Number(last) < Number(first)) return null;
  const start = ending === undefined ? Number(first) : Math.max(0, size - Number(ending));
  if (start < size) return { start, end: last ? Math.min(size, Number(last) + 1) : size };
  throw new DomainError("range_not_satisfiable", `The file has ${size} bytes`, { wholeBytes: size });
}
