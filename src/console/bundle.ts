import { makePages, type PageFiles } from "./make.ts";

/** The files of the pages. In a checkout they are built on first use; `scripts/build.ts` replaces this module with the built files. */
export const pages = (): Promise<PageFiles> => makePages();
