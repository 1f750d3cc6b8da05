import { Type } from "@sinclair/typebox";
import { ulidPattern } from "../../domain/ids.ts";
import { closed } from "./reference.ts";

/** The query of a list in the order of ids, whose cursor is the last id of a page. */
export function listQuery(what: string) {
  return Type.Object({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, default: 25, description: `How many ${what} to return.` }),
    ),
    cursor: Type.Optional(
      Type.String({
        allowEmptyValue: true,
        pattern: ulidPattern,
        errorMessage: "is not one of this list",
        description: "The `cursor` of the page before.",
      }),
    ),
  });
}

export const Pagination = Type.Object({ cursor: Type.String(), has_more: Type.Boolean() }, closed);
