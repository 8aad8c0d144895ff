import { nearestName } from '../nearest-name.ts';
import { KUBERNETES_MEND } from './addresses.ts';
import type { ConfigProblem } from './problems.ts';
import { VARIABLE_NAMES } from './variables.ts';

const PREFIX = 'LEADTAP_';
const OF_KUBERNETES = /^LEADTAP_(SERVICE_|PORT_\d)/;

/** A misspelt name would be ignored for ever, so every unknown `LEADTAP_*` that has a value is a problem. */
export function unknownNames(settings: Readonly<Record<string, string | undefined>>): ConfigProblem[] {
  return Object.keys(settings)
    .filter((name) => name.startsWith(PREFIX) && settings[name]?.trim() && !VARIABLE_NAMES.includes(name))
    .sort()
    .map((name) => ({ name, ...explain(name) }));
}

function explain(name: string): Pick<ConfigProblem, 'wrong' | 'write'> {
  if (OF_KUBERNETES.test(name))
    return { wrong: 'Kubernetes set it, for a Service named leadtap', write: KUBERNETES_MEND };
  const near = nearestName(name, VARIABLE_NAMES);
  const write = near === undefined ? 'Remove it; docs/configuration.md lists all.' : `Did you mean ${near}?`;
  return { wrong: 'there is no such variable', write };
}
