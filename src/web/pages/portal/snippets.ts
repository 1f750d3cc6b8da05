import page from "../../../../docs/verifying.md" with { type: "text" };

/** Receivers that verify a delivery: the first program below each heading of docs/verifying.md that has one. */
export const snippets: readonly { readonly name: string; readonly text: string }[] = page
  .split(/^## /m)
  .flatMap((section) => {
    const [, text] = /^```(?:ts|python|go|php|rust)\n([\s\S]*?)\n```$/m.exec(section) ?? [];
    return text === undefined ? [] : [{ name: section.slice(0, section.indexOf("\n")), text }];
  });
