import { pageOf } from "../../answers.ts";
import { pagedList } from "../../paging.ts";
import type { PublicDeps, TokenListener } from "../base.ts";
import { exampleNotice, NoticeSchema, shownNotice } from "./notice-fields.ts";

const NoticePage = pageOf(NoticeSchema, {
  order: "Notices, the newest first.",
  description: "A page of notices.",
  example: exampleNotice,
});

/** Get Notices, for programs that do not read the event stream. */
export function noticeRoutes(app: TokenListener, { store, cursors }: PublicDeps): void {
  const list = pagedList("notices", cursors);
  app.get(
    "/public/v1/application/notices",
    ({ query, caller: { application, grant } }) => {
      const read = (below: number | null, limit: number) => store.notices.page(application.id, below, limit);
      return list.page(query, { read, positionOf: ({ seq }) => seq, shown: shownNotice, grant });
    },
    {
      application: "reads",
      query: list.query,
      response: { 200: NoticePage },
      errors: ["invalid_cursor"],
      detail: {
        operationId: "getNotices",
        tags: ["Application"],
        description:
          "Returns notices about the endpoint of the calling application: that it fails, was disabled, or has recovered. The newest hundred of the last 30 days are kept. The event stream has the same notices, as events of their `type` with the same ids.",
      },
    },
  );
}
