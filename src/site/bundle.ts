import { makeSite, type SiteFiles } from "./make.ts";

/** The documentation. From a checkout it is made when first asked for; `scripts/build.ts` puts it in place of this module. */
export const site = (): Promise<SiteFiles> => makeSite();
