import type { Communication } from './app.ts';

const isCollection = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function mergeValues(under: unknown, over: unknown): unknown {
  if (over === undefined) return under;
  if (!isCollection(under) || !isCollection(over)) return over;
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, mergeValues(under[key], over[key])]));
}

const DIRECTIVES = new Set(['url', 'baseUrl', 'method', 'headers', 'body', 'response', 'pagination', 'log']);
const OF_RESPONSE = new Set([
  'type',
  'valid',
  'iterate',
  'limit',
  'output',
  'trigger',
  'metadata',
  'data',
  'error',
]);

const checkNames = (directives: object, known: ReadonlySet<string>): void => {
  const unknown = Object.keys(directives).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`unknown directives: ${unknown.join(', ')}`);
};

/** What inherits from what: the module from the base, the epoch from the module. The last one wins, key by key. */
export function inherit(...layers: readonly Communication[]): Communication {
  for (const layer of layers) {
    checkNames(layer, DIRECTIVES);
    checkNames(layer.response ?? {}, OF_RESPONSE);
  }
  return layers.reduce((under, over) => mergeValues(under, over) as Communication, {});
}
