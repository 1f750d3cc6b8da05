/*
 * The programs of threads. They are named in this directory, because in the executable all modules but the entry points
 * are one file in it.
 */
export const engineProgram = new URL("./engine/worker.ts", import.meta.url).href;
export const backupProgram = new URL("./backups/backup-worker.ts", import.meta.url).href;
export const databaseCheckProgram = new URL("./doctor/database-worker.ts", import.meta.url).href;
