import { type BackupState, backupsOfPostgres } from "../domain/backups.ts";
import { DomainError } from "../domain/errors.ts";
import type { Backups } from "./backups.ts";

/** What makes backups and keeps them; `state` is null where they are made elsewhere. */
export type BackupKeeper = Pick<
  Backups,
  "look" | "begin" | "page" | "find" | "content" | "remove" | "stop"
> & { readonly state: BackupState | null };

const refuse = async (): Promise<never> => {
  throw new DomainError("conflict", backupsOfPostgres);
};

/** In place of `Backups` where the data is in PostgreSQL. */
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
