import { useEffect, useRef } from "preact/hooks";
import type { Fault } from "../client.ts";
import { useLoad } from "../load.ts";
import { FaultNotice, Loading, Status } from "../parts/basics.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { to } from "../places.ts";
import { type ConditionJson, pathsOf, quoted, valuesAt } from "./form.ts";
import type { FilterSource, FilterTest } from "./source.ts";

/** Problems of a condition by their places in it, such as `content.$startWith`; "" for the whole. */
export type Problems = Readonly<Record<string, string>>;

/** Returns the problems of a fault by their places in the condition, which has one of these names there. */
export function placed(fault: Fault | null, ...names: readonly string[]): Problems {
  const found = Object.entries(fault?.fields ?? {}).flatMap(([field, message]) => {
    const name = ["filter", ...names].find((one) => field === one || field.startsWith(`${one}.`));
    return name === undefined ? [] : [[field.slice(name.length + 1), message] as const];
  });
  return Object.fromEntries(found);
}

interface TrialProps {
  readonly type: string;
  readonly of: FilterSource;
  /** null while it is incomplete. */
  readonly condition: ConditionJson | null;
  /** Tested when there are no deliveries. */
  readonly example: ConditionJson | undefined;
  readonly onProblems: (problems: Problems) => void;
}

/** Tests a condition while it is typed, and shows which of the last deliveries would pass. */
export function Trial({ type, of: source, condition, example, onProblems }: TrialProps) {
  const loaded = useLoad(
    async (signal) => {
      if (condition === null) return null;
      const tested = await source.test({ type, filter: condition }, signal);
      if (tested.tested > 0 || !example) return tested;
      return source.test({ type, filter: condition, samples: [example] }, signal);
    },
    [type, JSON.stringify(condition)],
    ["deliveries"],
  );
  const problems = placed(loaded.fault);
  const key = JSON.stringify(problems);
  useEffect(() => onProblems(problems), [key]);
  const last = useRef<FilterTest | null>(null);
  if (loaded.data) last.current = loaded.data;
  const result = loaded.data ?? last.current;
  const isPlaced = Object.keys(problems).length > 0;
  return (
    <div class="stack">
      <h3 aria-live="polite">
        {condition === null || isPlaced ? "Which events would be sent" : result && summary(result)}
      </h3>
      {condition === null ? (
        <p class="muted">Complete the condition to see which of the last deliveries it lets through.</p>
      ) : isPlaced ? (
        <p class="muted">Correct the condition to see which of the last deliveries it lets through.</p>
      ) : loaded.fault ? (
        <FaultNotice fault={loaded.fault} retry={loaded.reload} />
      ) : result ? (
        <Results of={result} isOld={loaded.data === null} hasFilter={type in source.filters} />
      ) : (
        <Loading />
      )}
    </div>
  );
}

const isSample = ({ results }: FilterTest) => results.every(({ delivery_id }) => delivery_id === null);

function summary(tested: FilterTest): string {
  const { passed, tested: count } = tested;
  if (isSample(tested)) return passed === 1 ? "The sample would be sent" : "The sample would not be sent";
  return count === 1
    ? `The last delivery would ${passed === 1 ? "" : "not "}be sent`
    : `${passed} of the last ${count} deliveries would be sent`;
}

interface ResultsProps {
  readonly of: FilterTest;
  /** Whether they are of the condition before the last change. */
  readonly isOld: boolean;
  readonly hasFilter: boolean;
}

function Results({ of: tested, isOld, hasFilter }: ResultsProps) {
  const paths = pathsOf(tested.filter);
  const rows = tested.results.map((result, i) => ({ ...result, id: result.delivery_id ?? String(i) }));
  return (
    <div class={isOld ? "stack tight old" : "stack tight"}>
      <Table
        label="Tested events"
        rows={rows}
        keyOf={({ id }) => id}
        columns={[
          {
            name: "Result",
            show: ({ passes }) => <Status word={passes ? "sent" : "filtered"} tone={passes ? "ok" : ""} />,
          },
          {
            name: "Data",
            isFilling: true,
            show: ({ data, delivery_id }) =>
              delivery_id === null ? (
                <span class="cell">{excerpt(data, paths)}</span>
              ) : (
                <a class="cell" href={to(`/deliveries/${delivery_id}`)}>
                  {excerpt(data, paths)}
                </a>
              ),
          },
          {
            name: "Published",
            isNumber: true,
            show: ({ created_at }) => (created_at === null ? "sample" : <Time at={created_at} />),
          },
        ]}
      />
      {isSample(tested) && <small class="muted">There are no deliveries of this type yet.</small>}
      {!isSample(tested) && hasFilter && (
        <small class="muted">Events that the saved filter has kept away are not among them.</small>
      )}
    </div>
  );
}

const longest = 200;

/** The values of the fields that a condition is about, in a line. */
function excerpt(data: ConditionJson, paths: readonly (readonly string[])[]): string {
  const parts = paths.map((path) => {
    const values = valuesAt(data, path).map(quoted);
    return `${paths.length > 1 ? `${path.join(".")}: ` : ""}${values.join(", ") || "no value"}`;
  });
  return parts.join(" · ").slice(0, longest).toWellFormed();
}
