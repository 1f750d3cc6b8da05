import type { ComponentChildren } from "preact";
import { Fault } from "../client.ts";
import { useLoad } from "../load.ts";
import { Read } from "./table.tsx";

/**
 * Returns a component whose script is loaded when it is first shown, so that other pages do not load it. Without the
 * script, for example of a server that was upgraded, it shows an error.
 */
export function later<Props extends object>(load: () => Promise<(props: Props) => ComponentChildren>) {
  return function Later(props: Props) {
    const loaded = useLoad(async () => {
      try {
        return { Part: await load() };
      } catch {
        throw new Fault("This part of the page could not be loaded. Reload the page.", "unreachable", 0);
      }
    }, []);
    return <Read of={loaded}>{({ Part }) => <Part {...props} />}</Read>;
  };
}
