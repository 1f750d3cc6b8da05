import { makePages, type PageFiles } from "./make.ts";

/** The files of the pages. A checkout builds them on first use; `scripts/build.ts` replaces this module with them. */
export const pages = (): Promise<PageFiles> => makePages();
