import type { Tab } from "./pages.ts";

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/**
 * What keeps people from using the page that is shown, in words: by WCAG 2.2 AA and what is thought good, or by these
 * rules of axe alone.
 */
export async function violations({ page }: Tab, only?: readonly string[]): Promise<string[]> {
  // By the protocol of the browser: the policy of the page lets no script in.
  await page.evaluate(axe);
  const result = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(only ? { type: "rule", values: only } : rules)} })`,
  )) as { violations: Violation[] };
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  );
}
