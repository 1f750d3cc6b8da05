import { makePages, type PageFiles } from "./make.ts";

/** The files of the pages. From a checkout they are made when first asked for; `scripts/build.ts` puts them in place of this module. */
export const pages = (): Promise<PageFiles> => makePages();
