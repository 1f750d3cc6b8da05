import { Head, LinkButton } from "../parts/basics.tsx";
import { to } from "../places.ts";

/** The page of an address that leads nowhere. */
export function Nothing() {
  return (
    <>
      <Head title="This address leads nowhere">It may have been mistyped, or what it showed is gone.</Head>
      <div class="row">
        <LinkButton href={to("")}>Go to the overview</LinkButton>
      </div>
    </>
  );
}
