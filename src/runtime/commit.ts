/**
 * The commit of this build, with `-changed` behind it where the checkout had changes; null where it is not known, as in a
 * checkout. The build of the executable (`scripts/executable.ts`) puts its own in place of this file.
 */
export const commit: string | null = null;
