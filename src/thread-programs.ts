/*
 * The programs of threads. Their URLs are relative to this directory, because the executable combines all modules
 * except the entry points in one file here.
 */
export const engineProgram = new URL("./server/engine-thread.ts", import.meta.url).href;
export const backupProgram = new URL("./operations/backups/backup-worker.ts", import.meta.url).href;
export const databaseCheckProgram = new URL("./operations/checks/database-worker.ts", import.meta.url).href;
