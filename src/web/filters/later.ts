import { later } from "../parts/table.tsx";

/** The list of filters, whose script is loaded when it is first shown. */
export const FilterList = later(async () => (await import("./list.tsx")).FilterList);
