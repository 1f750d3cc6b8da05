import { makePages, type PageFiles } from "./make.ts";

/** The files of the pages, which a checkout builds on first use. `scripts/build.ts` replaces this module with them. */
export const pages = (): Promise<PageFiles> => makePages();
