import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ConsoleSession } from "../../session.ts";

/** Who is signed in to the console, and what they may do. The server refuses the rest anyway. */
export interface Operator {
  readonly role: ConsoleSession["key"]["role"];
  /** Whether they may change applications, keys and the like. */
  readonly canChange: boolean;
  readonly publicUrl: string;
}

const Context = createContext<Operator>({ role: "reader", canChange: false, publicUrl: "" });
export const OperatorProvider = Context.Provider;

export function useOperator(): Operator {
  return useContext(Context);
}
