import { nearestName } from '../nearest-name.ts';
import { KUBERNETES_MEND, KUBERNETES_SET_IT } from './addresses.ts';
import type { ConfigProblem } from './problems.ts';
import { VARIABLE_NAMES } from './variables.ts';

const PREFIX = 'LEADTAP_';

/** A misspelt name would be ignored for ever, so every unknown `LEADTAP_*` that has a value is a problem. */
export function unknownNames(settings: Readonly<Record<string, string | undefined>>): ConfigProblem[] {
  return Object.entries(settings)
    .map(([name, value = '']) => ({ name, value: value.trim() }))
    .filter(({ name, value }) => name.startsWith(PREFIX) && value !== '' && !VARIABLE_NAMES.includes(name))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, value }) => ({ name, ...explain(name, value) }));
}

function explain(name: string, value: string): Pick<ConfigProblem, 'wrong' | 'write'> {
  if (isOfKubernetes(name, value)) return { wrong: KUBERNETES_SET_IT, write: KUBERNETES_MEND };
  const near = nearestName(name, VARIABLE_NAMES);
  const write = near === undefined ? 'Remove it; docs/configuration.md lists all.' : `Did you mean ${near}?`;
  return { wrong: 'there is no such variable', write };
}

/** For Services such as leadtap, leadtap-api and leadtap-redis. */
const isOfKubernetes = (name: string, value: string): boolean =>
  /_SERVICE_(HOST|PORT)|_PORT_\d+_/.test(name) || /^(tcp|udp|sctp):\/\//.test(value);
