import { ACCESS } from './access.ts';
import { CONNECTIONS } from './connections.ts';
import type { Fault } from './fault.ts';
import { LEADS_IN } from './leads-in.ts';
import { OPERATION } from './operation.ts';
import { POLLS } from './polls.ts';
import { WEBHOOKS } from './webhooks.ts';

export const FAULTS: readonly Fault[] = [
  ...ACCESS,
  ...CONNECTIONS,
  ...POLLS,
  ...LEADS_IN,
  ...WEBHOOKS,
  ...OPERATION,
];
