import { readFileSync } from 'node:fs';
import { compileFunction, createContext } from 'node:vm';

export const guide = readFileSync(
  new URL('../../../docs/integrations/power-automate.md', import.meta.url),
  'utf8',
);

const [, section = ''] = /^## Leads at once\n([\s\S]*?)^## /m.exec(guide) ?? [];
const steps = section.split(/^\d+\. /m);

/** The last expression in the step of the guide that adds this action. */
export function expressionOf(action: string): string {
  const step = steps.find(
    (text) => text.startsWith(`Add **${action}**`) || text.startsWith(`Add a **${action}**`),
  );
  const found = [...(step ?? '').matchAll(/```\n([\s\S]*?)```|`([^`]*\(\)?[^`]*)`/g)].at(-1);
  const expression = (found?.[1] ?? found?.[2])?.trim();
  if (expression === undefined) throw new Error(`the guide has no expression for ${action}`);
  return expression;
}

const isEmpty = (value: unknown) => value === null || value === undefined || value === '';

function checkComparable(a: unknown, b: unknown): void {
  if (typeof a !== typeof b || !['string', 'number'].includes(typeof a))
    throw new Error('less and lessOrEquals compare two strings or two numbers');
}

/** The functions that the guide uses, as the reference of workflow expressions has them. Each evaluates all of its parameters. */
const FUNCTIONS = {
  and: (...values: readonly boolean[]) => values.every((value) => value),
  not: (value: boolean) => !value,
  empty: isEmpty,
  coalesce: (...values: readonly unknown[]) => values.find((value) => value !== null && value !== undefined),
  contains: (text: string, part: string) => text.includes(part),
  length: (list: readonly unknown[]) => list.length,
  last: (list: readonly unknown[]) => list.at(-1) ?? null,
  when: (condition: boolean, value: unknown, otherwise: unknown) => (condition ? value : otherwise),
  less: (a: number, b: number) => {
    checkComparable(a, b);
    return a < b;
  },
  lessOrEquals: (a: string, b: string) => {
    checkComparable(a, b);
    return a <= b;
  },
};

/** What a run has: `triggerBody()`, `body('List_leads')` and so on. */
export type RunValues = Readonly<Record<string, (name: string) => unknown>>;

/** Expressions see nothing of this program. */
const REALM = createContext();
const compiled = new Map<string, (...values: readonly unknown[]) => unknown>();

/** Its syntax is that of JavaScript, except for `?[` and `if`. */
function compile(expression: string, names: readonly string[]) {
  const [, source = expression] = /^@\{?([\s\S]*?)\}?$/.exec(expression) ?? [];
  const script = source.replaceAll('?[', '?.[').replace(/\bif\(/g, 'when(');
  return compileFunction(`return (${script});`, names, { parsingContext: REALM }) as (
    ...values: readonly unknown[]
  ) => unknown;
}

/** An expression of the guide over the values of a run. */
export function evaluateExpression(expression: string, values: RunValues): unknown {
  const known = { ...FUNCTIONS, ...values };
  const names = Object.keys(known);
  const key = `${names}:${expression}`;
  const evaluate = compiled.get(key) ?? compile(expression, names);
  compiled.set(key, evaluate);
  return evaluate(...Object.values(known));
}
