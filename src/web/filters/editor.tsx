import { Plus, X } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { Fault } from "../client.ts";
import { type Problems, useDraft } from "../form.ts";
import { useAction, useLoad } from "../load.ts";
import { Button, Card, FaultNotice, Loading, Status } from "../parts/basics.tsx";
import { Field, Form, Select } from "../parts/form.tsx";
import { useKeptFocus } from "../parts/kept-place.ts";
import { toast } from "../parts/overlays.tsx";
import { Table } from "../parts/table.tsx";
import { Since, Time } from "../parts/time.tsx";
import { to } from "../places.ts";
import {
  type ConditionJson,
  conditionsFor,
  type FilterField,
  type FilterForm,
  type FilterSource,
  type FilterTest,
  fieldAt,
  fieldsOf,
  formOf,
  hasList,
  hasValue,
  isSameCondition,
  keysOf,
  type Line,
  lineAt,
  newLine,
  pathsOf,
  quoted,
  typesOf,
  valueKind,
  valuesAt,
  written,
} from "./form.ts";

interface FilterEditorProps {
  /** null for a new filter. */
  readonly type: string | null;
  readonly of: FilterSource;
  readonly onSaved: (type: string) => void;
  readonly onClose: () => void;
}

/** Edits the filter of a type, and shows beside it which events it lets through. */
export function FilterEditor({ type, of: source, onSaved, onClose }: FilterEditorProps) {
  const { filters, setAt, types } = source;
  const free = keysOf(types).filter((key) => !(key in filters));
  const [chosen, setChosen] = useState("chat.message.sent");
  const key = type ?? (free.includes(chosen) ? chosen : free[0]);
  return (
    <Card
      title={type === null ? "New filter" : <code>{type}</code>}
      actions={
        <>
          {type !== null && <Since at={setAt[type]} />}
          <Button isSmall kind="quiet" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      {key === undefined ? (
        <p class="muted">Every event type has a filter.</p>
      ) : (
        <Draft key={key} type={key} of={source} onSaved={onSaved}>
          {type === null && (
            <Select
              label="Event type"
              value={key}
              options={free.map((key) => [key, key] as const)}
              onInput={setChosen}
            />
          )}
        </Draft>
      )}
    </Card>
  );
}

interface DraftProps {
  readonly type: string;
  readonly of: FilterSource;
  readonly onSaved: (type: string) => void;
  readonly children: ComponentChildren;
}

/** What is typed: the form, and the text that replaces it. */
interface Typed {
  readonly isText: boolean;
  readonly form: FilterForm;
  readonly text: string;
}

const textOf = (condition: ConditionJson) => JSON.stringify(condition, null, 2);

/** The filter of a type as a form or as JSON. The children select the type. */
function Draft({ type, of: source, onSaved, children }: DraftProps) {
  const known = typesOf(type, source.types);
  const fields = fieldsOf(known.map(({ schema }) => schema));
  const [saved, setSaved] = useState(() => typedOf(source.filters[type], fields));
  const draft = useDraft<Typed>(`filter ${useLocation().path} ${type}`);
  const typed = draft.value ?? saved;
  const put = (some: Partial<Typed>) => draft.set({ ...(draft.now() ?? saved), ...some });
  const { isText, form, text } = typed;
  const { condition: ofForm, places } = written(form, fields);
  const { condition: ofText, problem } = parsed(text);
  const condition = isText ? ofText : ofForm;
  const missing = isText ? [] : places.filter((_, i) => isOpen(form.lines[i]));
  const save = useAction(async () => {
    if (condition === null) throw new Fault("The text is not valid JSON yet.", "invalid_parameter", 0);
    if (missing.length > 0) throw incomplete(missing);
    await source.change(type, condition);
    setSaved(typed);
    draft.discard();
    toast(`Saved. The filter of ${type} is in force.`);
    onSaved(type);
  });
  const [found, setFound] = useState<Problems>({});
  const problems = { ...found, ...placed(save.fault, `filters[${JSON.stringify(type)}]`) };
  const edit = (some: Partial<Typed>) => {
    put(some);
    save.forget();
  };
  const fits = ofText === null ? null : formOf(ofText, fields);
  const place = useRef<HTMLDivElement>(null);
  // It is below the list of filters.
  useEffect(() => place.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <div class="columns even" ref={place}>
      <Form
        label={`Filter of ${type}`}
        of={{
          ...save,
          fault: unplaced(save.fault, problems),
          draft,
        }}
        verb="Save"
      >
        {children}
        {isText ? (
          <Field
            label="Condition as JSON"
            isCode
            rows={12}
            hint="Fields as in the event's data, with values or operators such as $startsWith."
            value={text}
            problem={problem ?? said(problems)}
            onInput={(text) => edit({ text })}
          />
        ) : (
          <Lines
            form={form}
            fields={fields}
            places={places}
            problems={problems}
            onChange={(form) => edit({ form })}
          />
        )}
        <div class="row wrap">
          <Button
            isSmall
            kind="quiet"
            disabled={isText && fits === null}
            onClick={() => {
              if (!isText)
                put({ isText: true, text: isSameCondition(ofText, ofForm) ? text : textOf(ofForm) });
              else if (fits) put({ isText: false, form: isSameCondition(ofText, ofForm) ? form : fits });
            }}
          >
            {isText ? "Edit as a form" : "Edit as JSON"}
          </Button>
          {isText && ofText !== null && fits === null && (
            <small class="muted">This filter is too complex for the form.</small>
          )}
        </div>
      </Form>
      <Trial
        type={type}
        of={source}
        condition={missing.length > 0 ? null : condition}
        example={known.at(-1)?.example}
        onProblems={setFound}
      />
    </div>
  );
}

function typedOf(saved: ConditionJson | undefined, fields: readonly FilterField[]): Typed {
  const form = saved === undefined ? null : formOf(saved, fields);
  const first: FilterForm = form ?? { join: "all", lines: [newLine(fields)] };
  const condition = saved ?? written(first, fields).condition;
  return { isText: saved !== undefined && form === null, form: first, text: textOf(condition) };
}

/** Whether a line still needs a value. */
const isOpen = (line: Line | undefined) =>
  line !== undefined && hasValue(line.condition) && line.value === "";

function incomplete(places: readonly string[]): Fault {
  const fields = Object.fromEntries(places.map((place) => [`filter.${place}`, "is required"]));
  return new Fault("Correct the marked fields.", "invalid_parameter", 0, fields);
}

/** Reads the text of a condition, or says what is wrong with it. */
function parsed(text: string): { readonly condition: ConditionJson | null; readonly problem?: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { condition: value as ConditionJson };
    return { condition: null, problem: 'must be an object, such as {"content": {"$startsWith": "!"}}' };
  } catch (error) {
    const [, at = ""] = /\(?(line \d+ column \d+)\)?/.exec(String(error)) ?? [];
    return { condition: null, problem: `is not valid JSON yet${at && `: ${at}`}` };
  }
}

/** Problems as lines of text, each with its place. */
function said(problems: Problems): string | undefined {
  const lines = Object.entries(problems).map(([place, message]) => `${place || "The condition"} ${message}`);
  return lines.length === 0 ? undefined : `Mistakes:\n${lines.join("\n")}`;
}

/** Returns a fault of saving without the problems that are shown at their places. */
function unplaced(fault: Fault | null, problems: Problems): Fault | null {
  if (fault === null || Object.keys(fault.fields).length === 0 || "" in problems) return fault;
  return new Fault("Correct the marked fields.", fault.code, fault.status);
}

interface LinesProps {
  readonly form: FilterForm;
  readonly fields: readonly FilterField[];
  readonly places: readonly string[];
  readonly problems: Problems;
  readonly onChange: (form: FilterForm) => void;
}

function Lines({ form, fields, places, problems, onChange }: LinesProps) {
  const { lines, join } = form;
  const list = useRef<HTMLDivElement>(null);
  useKeptFocus(list, lines.length);
  const found = Object.entries(problems);
  const others = found.filter(([at]) => !places.some((place) => isAbout(at, place)));
  const change = (at: number, line: Line) => onChange({ ...form, lines: lines.with(at, line) });
  return (
    <>
      {lines.length > 1 && (
        <Select
          label="Send events that meet"
          value={join}
          options={[
            ["all", "all of these conditions"],
            ["any", "any of these conditions"],
          ]}
          onInput={(join) => onChange({ ...form, join })}
        />
      )}
      <div class="stack" ref={list}>
        {lines.map((line, i) => (
          <fieldset class="stack tight" key={i}>
            <legend class="visually-hidden">Condition {i + 1}</legend>
            <LineFields
              line={line}
              fields={fields}
              problem={found.find(([at]) => isAbout(at, places[i] ?? ""))?.[1]}
              onChange={(line) => change(i, line)}
            >
              {lines.length > 1 && (
                <Button
                  kind="quiet"
                  icon={X}
                  label={`Remove condition ${i + 1}`}
                  onClick={() => onChange({ ...form, lines: lines.toSpliced(i, 1) })}
                />
              )}
            </LineFields>
          </fieldset>
        ))}
      </div>
      {others.length > 0 && <p class="small bad">{said(Object.fromEntries(others))}</p>}
      <div class="row">
        <Button isSmall icon={Plus} onClick={() => onChange({ ...form, lines: [...lines, newLine(fields)] })}>
          Add a condition
        </Button>
      </div>
    </>
  );
}

/** Whether a problem is about a line: at its place, inside of it, or at a field that leads to it. */
const isAbout = (at: string, place: string) =>
  at !== "" && (at === place || place.startsWith(`${at}.`) || at.startsWith(`${place}[`));

interface LineFieldsProps {
  readonly line: Line;
  readonly fields: readonly FilterField[];
  readonly problem: string | undefined;
  readonly onChange: (line: Line) => void;
  /** The button that removes it. */
  readonly children: ComponentChildren;
}

function LineFields({ line, fields, problem, onChange, children }: LineFieldsProps) {
  const field = fieldAt(line.path, fields);
  const { condition, value } = line;
  const kind = valueKind(condition, field);
  const choices = field?.values ?? (kind === "boolean" ? [true, false] : null);
  const isChoice = choices !== null && (condition === "$eq" || condition === "$neq");
  return (
    <>
      <div class="filter-field">
        <Select
          label="Field"
          value={JSON.stringify(line.path)}
          options={fields.map(({ path }) => [JSON.stringify(path), path.join(".")] as const)}
          onInput={(path) => onChange(lineAt(line, JSON.parse(path), fields))}
        />
        {children}
      </div>
      <div class="filter-comparison">
        <Select
          label="Condition"
          value={condition}
          options={conditionsFor(field?.kind ?? "any")}
          onInput={(condition) => onChange({ ...line, condition })}
        />
        {isChoice && (
          <Select
            label="Value"
            value={value}
            options={[["", "Choose"], ...choices.map((choice) => [String(choice), String(choice)] as const)]}
            onInput={(value) => onChange({ ...line, value })}
          />
        )}
        {!isChoice && hasValue(condition) && (
          <Field
            label="Value"
            type={kind === "number" && !hasList(condition) ? "number" : "text"}
            value={value}
            hint={hasList(condition) ? "Separated by commas." : ""}
            problem={problem}
            onInput={(value) => onChange({ ...line, value })}
          />
        )}
      </div>
      {problem !== undefined && (isChoice || !hasValue(condition)) && (
        <span class="small bad">The condition {problem}</span>
      )}
    </>
  );
}

/**
 * Returns the problems of a fault by their places in the condition, such as `content.$startWith`; "" for the whole. In
 * the fault, the condition is named `filter`, or has one of these names.
 */
function placed(fault: Fault | null, ...names: readonly string[]): Problems {
  const found = Object.entries(fault?.fields ?? {}).flatMap(([field, message]) => {
    const name = ["filter", ...names].find((known) => field === known || field.startsWith(`${known}.`));
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
function Trial({ type, of: source, condition, example, onProblems }: TrialProps) {
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
