/**
 * The commit of this build, with the suffix `-changed` if the checkout had changes; null if it is unknown. The build of
 * the executable (`scripts/executable.ts`) replaces this file.
 */
export const commit: string | null = null;
