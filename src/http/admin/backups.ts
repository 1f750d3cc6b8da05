import { type Static, Type } from "@sinclair/typebox";
import type { Backups } from "../../backups/backups.ts";
import type { Backup } from "../../domain/backups.ts";
import { about, nullable } from "../../domain/fields.ts";
import { isoTime } from "../../domain/time.ts";
import { type Cursors, Pagination } from "../cursors.ts";
import { reply, replyJson } from "../exchange.ts";
import { fileStream, rangeOf } from "../file.ts";
import { answer, IsoTimestamp, Message } from "../public/reference.ts";
import { header } from "../public/reference-errors.ts";
import { readParam } from "../query.ts";
import type { AdminListener } from "./base.ts";
import { idList } from "./paging.ts";
import { adminOperation, closed, contentRange, linksTo } from "./reference.ts";

const path = "/admin/v1/backups";
const tag = "Backups";
const mediaType = "application/vnd.sqlite3";

const BackupSchema = Type.Object(
  {
    id: Type.String({ description: "Id of the backup." }),
    status: Type.Union(
      ["running", "done", "failed"].map((status) => Type.Literal(status)),
      { description: "How far it is." },
    ),
    progress: Type.Number({
      minimum: 0,
      maximum: 1,
      description: "The part of the database that is copied; what is copied is then checked.",
    }),
    size_bytes: Type.Integer({ minimum: 0, description: "What is written so far." }),
    sha256: nullable(Type.String(), {
      description: "The hash of its content in hexadecimal digits, once it is done.",
    }),
    error: nullable(Type.String(), { description: "Why it failed." }),
    created_at: about(IsoTimestamp, "When it began."),
    finished_at: nullable(IsoTimestamp, { description: "When it ended; null while it runs." }),
  },
  { $id: "Backup", description: "A copy of the database.", ...closed },
);

const BackupId = Type.Object({
  id: Type.String({
    maxLength: 64,
    description: "Id of the backup.",
    examples: ["01KEYN5Z9V5Z8N1F4T7Y0XW3CD"],
  }),
});
const readBackupId = (text: string) => readParam("id", text, BackupId.properties.id);

const list = idList("backups");

const ContentHeaders = Type.Object({
  Range: Type.Optional(
    Type.String({
      description: "One range of bytes, to go on with a download that broke off.",
      examples: ["bytes=1048576-"],
    }),
  ),
  "If-Range": Type.Optional(
    Type.String({ description: "The `ETag` of what is there already: all is sent where it is another one." }),
  ),
});

const exampleHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const exampleBackup: Static<typeof BackupSchema> = {
  id: "01KEYN5Z9V5Z8N1F4T7Y0XW3CD",
  status: "done",
  progress: 1,
  size_bytes: 241_754_112,
  sha256: exampleHash,
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
  ETag: header("ETag", "The hash of the content.", "string", `"${exampleHash}"`),
  "Repr-Digest": header(
    "Repr-Digest",
    "The same in the form of RFC 9530.",
    "string",
    `sha-256=:${digest(exampleHash)}:`,
  ),
  "Accept-Ranges": header("Accept-Ranges", "That a part can be had.", "string", "bytes"),
};

function shown({ created_at, finished_at, ...backup }: Backup): Static<typeof BackupSchema> {
  return {
    ...backup,
    created_at: isoTime(created_at),
    finished_at: finished_at === null ? null : isoTime(finished_at),
  };
}

interface BackupRouteOptions {
  readonly backups: Backups;
  readonly cursors: Cursors;
}

/** Online backups: make, list, get, download and delete. */
export function backupRoutes(app: AdminListener, options: BackupRouteOptions): void {
  const { backups } = options;
  recordRoutes(app, options);
  contentRoute(app, backups);
}

function recordRoutes(app: AdminListener, { backups, cursors }: BackupRouteOptions): void {
  app.post(
    path,
    async ({ exchange }) => replyJson(exchange, 202, shown(await backups.begin())),
    adminOperation({
      id: "createBackup",
      tag,
      summary: "Create Backup",
      description:
        "Begins a backup of the whole database; what was acknowledged before is in it. It is made in the background, one at a time, and cannot be interrupted; a server that stops gives it up. The newest ones are kept, as many as `--keep-backups` says.",
      answers: {
        202: answer("The backup as far as it is.", {
          schema: BackupSchema,
          example: exampleRunning,
          links: linksTo({
            getBackup: "The backup and how far it is.",
            getBackupContent: "The file, once it is done.",
            deleteBackup: "Deletes the backup.",
          }),
        }),
      },
      errors: ["conflict"],
    }),
  );

  app.get(
    path,
    async ({ exchange, request }) => {
      const { limit, after } = list.read(request.url, cursors);
      const found = await backups.page(after, limit + 1);
      const { rows, pagination } = list.page(found, limit, cursors, ({ id }) => id);
      return replyJson(exchange, 200, { data: rows.map(shown), pagination, message: "OK" });
    },
    adminOperation({
      id: "getBackups",
      tag,
      summary: "List Backups",
      description:
        "All backups, the newest first. Those that failed are remembered until the server stops. On the last page `cursor` is empty.",
      query: list.query,
      answers: {
        200: answer("A page of backups.", {
          schema: Type.Object(
            {
              data: Type.Array(BackupSchema, { description: "The newest first." }),
              pagination: Pagination,
              message: Message,
            },
            { $id: "BackupPage", description: "A page of backups.", ...closed },
          ),
          example: { data: [exampleBackup], pagination: { cursor: "", has_more: false }, message: "OK" },
        }),
      },
      errors: ["invalid_cursor"],
    }),
  );

  app.get(
    `${path}/:id`,
    async ({ exchange, params }) =>
      replyJson(exchange, 200, shown(await backups.find(readBackupId(params.id)))),
    adminOperation({
      id: "getBackup",
      tag,
      summary: "Get Backup",
      description: "One backup with its progress.",
      params: BackupId,
      answers: {
        200: answer("The backup as far as it is.", { schema: BackupSchema, example: exampleBackup }),
      },
      errors: ["not_found"],
    }),
  );

  app.delete(
    `${path}/:id`,
    async ({ exchange, params }) => {
      await backups.remove(readBackupId(params.id));
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: "deleteBackup",
      tag,
      summary: "Delete Backup",
      description: "Deletes a backup. One that is running cannot be deleted.",
      params: BackupId,
      answers: { 204: answer("It is gone.") },
      errors: ["not_found", "conflict"],
    }),
  );
}

function contentRoute(app: AdminListener, backups: Backups): void {
  app.get(
    `${path}/:id/content`,
    async ({ exchange, request, params }) => {
      const { path: file, backup } = await backups.content(readBackupId(params.id));
      const { id, size_bytes: size, sha256 } = backup;
      const etag = `"${sha256}"`;
      const headers = {
        "content-type": mediaType,
        "content-disposition": `attachment; filename="onair-${id}.db"`,
        etag,
        "repr-digest": `sha-256=:${digest(sha256 ?? "")}:`,
        "accept-ranges": "bytes",
      };
      // Bun adds the length, which it leaves out before a stream.
      if (exchange.method === "HEAD") return reply(exchange, 200, Bun.file(file), headers);
      const range = rangeOf(request, size, etag);
      const body = fileStream(file, range ?? { start: 0, end: size });
      if (!range) return reply(exchange, 200, body, headers);
      const part = `bytes ${range.start}-${range.end - 1}/${size}`;
      return reply(exchange, 206, body, { ...headers, "content-range": part });
    },
    adminOperation({
      id: "getBackupContent",
      tag,
      summary: "Download Backup",
      description:
        "The database of a backup, as a file of SQLite for `onair restore`. It holds signing secrets: keep it as you keep those. It is sent in chunks, and `HEAD` tells its length.",
      params: BackupId,
      headers: ContentHeaders,
      answers: {
        200: { ...answer("The whole file."), file: mediaType, headers: contentHeaders },
        206: {
          ...answer("The part that `Range` asked for."),
          file: mediaType,
          headers: { ...contentHeaders, ...contentRange },
        },
      },
      errors: ["not_found", "conflict", "range_not_satisfiable"],
    }),
  );
}

/** A hash in hexadecimal digits as base64. */
function digest(sha256: string): string {
  return Buffer.from(sha256, "hex").toString("base64");
}
