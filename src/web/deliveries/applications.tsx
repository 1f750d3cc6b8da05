import { useEffect, useState } from "preact/hooks";
import { admin, dataOf } from "../client.ts";
import { useById, useLoad } from "../load.ts";
import { Field } from "../parts/form.tsx";
import { type Delivery, useDeliveries } from "./source.ts";

const offered = 20;

/** Returns the name of a delivery's application; for a deleted application, the id. */
export type ApplicationOf = (delivery: Pick<Delivery, "app_id">) => string;

/** Returns the name of each application of these ids; for a deleted application, the id. */
export function useApplicationNames(ids: readonly (string | null | undefined)[]): (id: string) => string {
  const applications = useById(ids, (id, signal) => {
    const query = { id, limit: id.length };
    return dataOf(admin.GET("/admin/v1/applications", { params: { query }, signal }));
  });
  return (id) => applications.get(id)?.name ?? id;
}

/** Returns the applications of deliveries; undefined when all belong to the signed-in application. */
export function useApplications(rows: readonly Pick<Delivery, "app_id">[]): ApplicationOf | undefined {
  const nameOf = useApplicationNames(rows.map(({ app_id }) => app_id));
  return useDeliveries().isOfAll ? ({ app_id = "" }) => nameOf(app_id) : undefined;
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
  const name = useApplicationNames([id])(id);
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
