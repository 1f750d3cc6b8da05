import { useEffect, useRef, useState } from "preact/hooks";
import { admin, dataOf, done } from "../client.ts";
import { useLoad } from "../load.ts";
import { Field } from "../parts/form.tsx";
import { type Delivery, useDeliveries } from "./source.ts";

const idsAtOnce = 100;
const offered = 20;

/** Returns the name of a delivery's application; for a deleted application, the id. */
export type ApplicationOf = (delivery: Pick<Delivery, "app_id">) => string;

/** Returns the names of applications by id. Known names are not requested again. */
export function useApplicationNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const known = useRef(new Map<string, string>());
  const wanted = [...new Set(ids)].filter((id) => !known.current.has(id)).slice(0, idsAtOnce);
  useLoad(
    async (signal) => {
      if (wanted.length === 0) return;
      const query = { id: wanted, limit: idsAtOnce };
      const { data } = await done(admin.GET("/admin/v1/applications", { params: { query }, signal }));
      // A deleted application is shown by its id.
      for (const id of wanted) known.current.set(id, id);
      for (const { id, name } of data) known.current.set(id, name);
    },
    [wanted.join()],
  );
  return known.current;
}

/** Returns the applications of deliveries; undefined when all belong to the signed-in application. */
export function useApplications(rows: readonly Pick<Delivery, "app_id">[]): ApplicationOf | undefined {
  const names = useApplicationNames(rows.flatMap(({ app_id }) => app_id ?? []));
  return useDeliveries().isOfAll ? ({ app_id = "" }) => names.get(app_id) ?? app_id : undefined;
}

const isId = (text: string) => /^[0-9A-Z]{26}$/.test(text);

/** A field that selects an application by name or id. */
export function ApplicationField({
  value: id,
  problem,
  onInput,
}: {
  /** The id of the chosen application; "" for none. */
  value: string;
  problem?: string | undefined;
  onInput: (id: string) => void;
}) {
  const [typed, setTyped] = useState<string | null>(null);
  const name = useApplicationNames(id === "" ? [] : [id]).get(id) ?? id;
  const text = typed ?? name;
  const found = useLoad(
    async (signal) => {
      if (typed === null || typed.trim() === "" || isId(typed.trim())) return [];
      const query = { find: typed.trim(), limit: offered };
      return dataOf(admin.GET("/admin/v1/applications", { params: { query }, signal }));
    },
    [typed],
  );
  const choices = found.data ?? [];
  const isUnclear = id === "" && (typed ?? "").trim() !== "" && found.data !== null;
  const choose = (next: string, chosen: string) => {
    setTyped(chosen === "" ? next : null);
    if (chosen !== id) onInput(chosen);
  };
  const input = (next: string) => choose(next, isId(next.trim()) ? next.trim() : "");
  const named = choices.find((choice) => choice.name === typed?.trim());
  useEffect(() => {
    if (named) choose(named.name, named.id);
  }, [named?.id]);
  return (
    <Field
      label="Application"
      placeholder="Name or id"
      value={text}
      list={choices.map((choice) => choice.name)}
      hint={isUnclear && "Choose one of those offered."}
      problem={
        problem ?? (isUnclear && choices.length === 0 ? "No application has this name or id." : undefined)
      }
      onInput={input}
    />
  );
}
