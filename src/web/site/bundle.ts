import { makeSite, type SiteFiles } from "./make.ts";

/**
 * The documentation. In a checkout it is built on first use; `scripts/build.ts` replaces this module with the built
 * files.
 */
export const site = (): Promise<SiteFiles> => makeSite();
