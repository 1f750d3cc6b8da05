import { later } from "../parts/later.tsx";

/** The list of filters, whose script is loaded when it is first shown. */
export const FilterList = later(async () => (await import("./list.tsx")).FilterList);
