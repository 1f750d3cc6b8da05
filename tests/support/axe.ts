import type { Tab } from "./pages.ts";

const axe = await Bun.file(Bun.resolveSync("axe-core/axe.min.js", import.meta.dir)).text();

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What keeps people from using the page that is shown (WCAG 2.2 AA, and what is thought good), in words. */
export async function violations({ page }: Tab): Promise<string[]> {
  // By the protocol of the browser: the policy of the page lets no script in.
  await page.evaluate(axe);
  const result = (await page.evaluate(
    'axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })',
  )) as { violations: Violation[] };
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  );
}
