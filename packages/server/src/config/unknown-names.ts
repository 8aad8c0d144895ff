import { editDistance } from '../edit-distance.ts';
import { KUBERNETES_MEND } from './addresses.ts';
import type { ConfigProblem } from './problems.ts';
import { VARIABLE_NAMES } from './variables.ts';

const PREFIX = 'LEADTAP_';
const OF_KUBERNETES = /^LEADTAP_(SERVICE_|PORT_\d)/;

/** A misspelt name would be ignored for ever, so every unknown `LEADTAP_*` that has a value is a problem. */
export function unknownNames(settings: Readonly<Record<string, string | undefined>>): ConfigProblem[] {
  const known: readonly string[] = VARIABLE_NAMES;
  return Object.keys(settings)
    .filter((name) => name.startsWith(PREFIX) && settings[name]?.trim() && !known.includes(name))
    .sort()
    .map((name) => ({ name, ...explain(name) }));
}

function explain(name: string): Pick<ConfigProblem, 'wrong' | 'write'> {
  if (OF_KUBERNETES.test(name))
    return { wrong: 'Kubernetes set it, for a Service named leadtap', write: KUBERNETES_MEND };
  const near = nearestName(name);
  const write = near === undefined ? 'Remove it; docs/configuration.md lists all.' : `Did you mean ${near}?`;
  return { wrong: 'there is no such variable', write };
}

function nearestName(name: string): string | undefined {
  const near = VARIABLE_NAMES.map((known) => ({ known, edits: editDistance(name, known) }))
    .filter(({ known, edits }) => edits <= Math.max(2, Math.floor((known.length - PREFIX.length) / 3)))
    .sort((a, b) => a.edits - b.edits);
  return near[0]?.known;
}
