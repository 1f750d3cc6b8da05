import { Head, LinkButton } from "../parts/basics.tsx";
import { to } from "../places.ts";

/** The page for an unknown URL. */
export function Nothing() {
  return (
    <>
      <Head title="Page not found">The address may be mistyped, or the page no longer exists.</Head>
      <div class="row">
        <LinkButton href={to("")}>Go to the overview</LinkButton>
      </div>
    </>
  );
}
