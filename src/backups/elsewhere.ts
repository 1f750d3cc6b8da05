import { type BackupState, backupsOfPostgres } from "../domain/backups.ts";
import { DomainError } from "../domain/errors.ts";
import type { Backups } from "./backups.ts";

/** The backups of a server. `state` is null when they are made by other software. */
export type BackupKeeper = Pick<
  Backups,
  "look" | "begin" | "page" | "find" | "content" | "remove" | "stop"
> & { readonly state: BackupState | null };

const refuse = async (): Promise<never> => {
  throw new DomainError("conflict", backupsOfPostgres);
};

/** Replaces `Backups` when the data is in PostgreSQL. */
export const backupsElsewhere: BackupKeeper = {
  state: null,
  async look() {},
  begin: refuse,
  page: async () => [],
  find: refuse,
  content: refuse,
  remove: refuse,
  stop() {},
};
