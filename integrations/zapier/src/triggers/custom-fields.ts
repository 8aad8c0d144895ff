import type { Bundle, PlainOutputField, ZObject } from 'zapier-platform-core';
import { readPage } from '../read-page.ts';

/** Zapier shows no more. */
const MOST_FIELDS = 1000;

type FieldType = 'string' | 'number' | 'boolean';

/** `roofArea` and `roof_area` become Roof Area; what has spaces stays as it is. */
export const labelOf = (path: readonly string[]): string =>
  path
    .map((name) => name.replace(/[_-]+/g, ' ').replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2'))
    .map((name) => name.trim().replace(/(^|\s)\p{Ll}/gu, (letter) => letter.toUpperCase()))
    .join(': ');

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The values in an object by their paths; objects in it are entered. */
function* valuesIn(
  object: Readonly<Record<string, unknown>>,
  path: readonly string[] = [],
): Generator<readonly [path: readonly string[], value: unknown]> {
  for (const [name, value] of Object.entries(object)) {
    const inner = [...path, name];
    if (isObject(value)) yield* valuesIn(value, inner);
    else yield [inner, value];
  }
}

/** What all values are that are not empty; text when they differ. */
function typeOf(values: readonly unknown[]): FieldType {
  const [type, ...others] = new Set(values.map((value) => typeof value));
  return others.length === 0 && (type === 'number' || type === 'boolean') ? type : 'string';
}

function toField(path: readonly string[], values: readonly unknown[]): PlainOutputField {
  const key = ['customFields', ...path].join('__');
  const known = values.filter((value) => value !== null);
  const list = known.some(Array.isArray);
  return { key, label: labelOf(path), type: typeOf(known.flat()), ...(list && { list }) };
}

/** The operator's own fields, as the newest leads have them: no other endpoint lists them. */
export async function customFields(z: ZObject, bundle: Bundle): Promise<PlainOutputField[]> {
  const { leads } = await readPage(z, bundle);
  const found = new Map<string, { readonly path: readonly string[]; readonly values: unknown[] }>();
  for (const lead of leads)
    for (const [path, value] of valuesIn(lead.customFields)) {
      const name = path.join('__');
      const field = found.get(name) ?? { path, values: [] };
      found.set(name, field);
      field.values.push(value);
    }
  return [...found.values()].slice(0, MOST_FIELDS).map(({ path, values }) => toField(path, values));
}
