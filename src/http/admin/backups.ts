import { type Static, Type } from "@sinclair/typebox";
import type { BackupKeeper } from "../../backups/elsewhere.ts";
import type { Backup } from "../../domain/backups.ts";
import { isoTime, isoTimeOrNull } from "../../domain/time.ts";
import { about, nullable, oneOf } from "../../domain/validation/fields.ts";
import { answerOf, file, linksTo, noContent, pageOf } from "../answers.ts";
import { IsoTimestamp, named } from "../fields.ts";
import { rangeOf } from "../file.ts";
import { header } from "../openapi/components.ts";
import { contentRange } from "../openapi/headers.ts";
import { pagedList } from "../paging.ts";
import { TextParameter } from "../parameters.ts";
import { reply } from "../request-context.ts";
import { operators, readers, whileAllowed } from "./access.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

const mediaType = "application/vnd.sqlite3";

export const BackupSchema = named("Backup", "A copy of the database.", {
  id: Type.String({ description: "Id of the backup." }),
  status: oneOf(["running", "done", "failed"], { description: "How far it is." }),
  progress: Type.Number({
    minimum: 0,
    maximum: 1,
    description: "The part of the database that is copied; what is copied is then checked.",
  }),
  size_bytes: Type.Integer({ minimum: 0, description: "What is written so far." }),
  sha256: nullable(Type.String(), {
    description: "The hash of its content in hexadecimal digits, once it is done.",
  }),
  is_encrypted: Type.Boolean({ description: "Whether it is encrypted, for `--backup-recipients`." }),
  error: nullable(Type.String(), { description: "Why it failed." }),
  created_at: about(IsoTimestamp, "When it began."),
  finished_at: nullable(IsoTimestamp, { description: "When it ended; null while it runs." }),
});

const BackupParams = Type.Object({
  id: TextParameter({
    maxLength: 64,
    description: "Id of the backup.",
    examples: ["01KEYN5Z9V5Z8N1F4T7Y0XW3CD"],
  }),
});

const ContentHeaders = Type.Object({
  Range: Type.Optional(
    TextParameter({
      description: "One range of bytes, to go on with a download that broke off.",
      examples: ["bytes=1048576-"],
    }),
  ),
  "If-Range": Type.Optional(
    TextParameter({
      description: "The `ETag` of what is there already: all is sent where it is another one.",
    }),
  ),
});

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
    finished_at: isoTimeOrNull(finished_at),
  };
}

const BegunBackup = answerOf(BackupSchema, {
  description: "The backup as far as it is.",
  example: exampleRunning,
  links: linksTo({
    getBackup: "The backup and how far it is.",
    getBackupContent: "The file, once it is done.",
    deleteBackup: "Deletes the backup.",
  }),
});

const FoundBackup = answerOf(BackupSchema, {
  description: "The backup as far as it is.",
  example: exampleBackup,
});

const FoundBackups = pageOf(BackupSchema, {
  order: "The newest first.",
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

  app.post("/admin/v1/backups", async ({ status }) => status(202, shown(await backups.begin())), {
    roles: operators,
    response: { 202: BegunBackup },
    errors: ["conflict"],
    detail: {
      operationId: "createBackup",
      tags: ["Backups"],
      description:
        "Begins a backup of the whole database; what was acknowledged before is in it. It is made in the background, one at a time, and cannot be interrupted; a server that stops gives it up. It goes to where `--backup-to` says; the newest ones are kept, as many as `--keep-backups` says.",
    },
  });

  app.get(
    "/admin/v1/backups",
    ({ query }) =>
      list.page(query, {
        read: (after: string | null, limit) => backups.page(after ?? "", limit),
        positionOf: ({ id }) => id,
        shown,
      }),
    {
      roles: readers,
      query: list.query,
      response: { 200: FoundBackups },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getBackups",
        tags: ["Backups"],
        summary: "List Backups",
        description:
          "All backups, the newest first. Those that failed are remembered until the server stops. On the last page `cursor` is empty.",
      },
    },
  );

  app.get("/admin/v1/backups/:id", async ({ params: { id } }) => shown(await backups.find(id)), {
    roles: readers,
    params: BackupParams,
    response: { 200: FoundBackup },
    // There are none where the data is in PostgreSQL.
    errors: ["not_found", "conflict"],
    detail: {
      operationId: "getBackup",
      tags: ["Backups"],
      description: "One backup with its progress.",
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
      response: { 204: noContent("It is gone.") },
      errors: ["not_found", "conflict"],
      detail: {
        operationId: "deleteBackup",
        tags: ["Backups"],
        description: "Deletes a backup. One that is running cannot be deleted.",
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
        206: file("The part that `Range` asked for.", mediaType, { ...contentHeaders, ...contentRange }),
      },
      errors: ["not_found", "conflict", "range_not_satisfiable"],
      detail: {
        operationId: "getBackupContent",
        tags: ["Backups"],
        summary: "Download Backup",
        description:
          "The database of a backup, as a file of SQLite for `onair restore`; one that is encrypted is a file of age (`application/octet-stream`). It holds signing secrets: keep it as you keep those. It is sent in chunks; `size_bytes` tells its length, and so does `HEAD` where it is in a directory.",
      },
    },
  );
}

/** Converts a hexadecimal hash to base64. */
function digest(sha256: string): string {
  return Buffer.from(sha256, "hex").toString("base64");
}
