import type { Organisation } from 'leadtap';
import type { Actor } from '../../packages/testing/delivery-trial/actor.ts';
import { CLOCK_STEP_MS, clockStepper } from '../../packages/testing/delivery-trial/actors/clock-stepper.ts';
import { httpSender, sendersOf } from '../../packages/testing/delivery-trial/actors/http-sender.ts';
import { importProcess } from '../../packages/testing/delivery-trial/actors/import-process.ts';
import { instanceCrasher } from '../../packages/testing/delivery-trial/actors/instance-crasher.ts';
import { networkFaults } from '../../packages/testing/delivery-trial/actors/network-faults.ts';
import { packageWriter } from '../../packages/testing/delivery-trial/actors/package-writer.ts';
import { remadeCompany } from '../../packages/testing/delivery-trial/actors/remade-company.ts';
import type { PollerSetup } from '../../packages/testing/delivery-trial/pollers/profiles.ts';
import {
  CONTENDED_IDS,
  contentionWriter,
} from '../../packages/testing/delivery-trial/postgres/contention-writer.ts';
import { COPIED, copiedWriter } from '../../packages/testing/delivery-trial/postgres/copying-trigger.ts';
import { insertWriter } from '../../packages/testing/delivery-trial/postgres/insert-writer.ts';
import {
  connectionCutter,
  historyWriter,
  schemaChanger,
  serverCrasher,
} from '../../packages/testing/delivery-trial/postgres/other-actors.ts';
import { statementWriter } from '../../packages/testing/delivery-trial/sqlite/statements.ts';
import type { Trial } from '../../packages/testing/delivery-trial/trial.ts';
import type { Environment } from './environment.ts';
import type { SoakOptions } from './options.ts';

export type Phase = 'calm' | 'clock steps' | 'faults';

/** What the actors of one phase share. */
export interface Stage {
  readonly phase: Phase;
  readonly options: SoakOptions;
  readonly environment: Environment;
  readonly trial: Trial;
  readonly companyIds: readonly string[];
  readonly pollers: readonly PollerSetup[];
  readonly remade: { readonly companyId: string; readonly organisation: Organisation };
}

const BURST = 1000;
/** Shorter than clients wait for an answer. */
const MAX_FAULT_MS = 1000;

const times = (count: number, make: (number: number) => Actor): Actor[] =>
  Array.from({ length: count }, (_, index) => make(index + 1));

type MakeActors = (stage: Stage) => Actor[];

const nameIn = ({ phase }: Stage, name: string): string => `${name}-${phase.replace(' ', '-')}`;
/** While the clock is stepped, a historical lead must not be in the future after the next step. */
const minHistoryAgeMsIn = ({ phase }: Stage): number => (phase === 'clock steps' ? 3 * CLOCK_STEP_MS : 1000);
const fileOf = ({ environment }: Stage): string => environment.databaseUrl.slice('sqlite:'.length);

const BOTH: Readonly<Record<string, MakeActors>> = {
  package: (stage) =>
    times(2, (number) =>
      packageWriter({
        name: nameIn(stage, `package-${number}`),
        companyIds: stage.companyIds,
        contendedIds: CONTENDED_IDS,
        openStore: stage.environment.openStore,
        minHistoryAgeMs: minHistoryAgeMsIn(stage),
      }),
    ),
  import: (stage) => [
    importProcess({
      name: nameIn(stage, 'import'),
      companyIds: stage.options.actors.has('copying')
        ? [...stage.companyIds, COPIED.source]
        : stage.companyIds,
      contendedIds: CONTENDED_IDS,
      copiedTo: { [COPIED.source]: COPIED.target },
      spawnLeadtap: stage.environment.installation.spawnLeadtap,
      toleratesFaults: stage.phase === 'faults',
    }),
  ],
  http: (stage) =>
    times(2, (number) =>
      httpSender({
        name: nameIn(stage, `http-${number}`),
        installation: stage.environment.installation,
        users: sendersOf(
          stage.pollers.filter(({ client }) => stage.companyIds.includes(client.scope.companyId)),
        ),
        toleratesFaults: stage.phase !== 'calm',
      }),
    ),
  remade: ({ phase, environment, trial, remade }) =>
    phase === 'faults'
      ? []
      : [
          remadeCompany({
            ...remade,
            burst: BURST,
            openStore: environment.openStore,
            deleteCompany: environment.deleteCompany,
            pollOnce: () => trial.pollOnce(({ scope }) => scope.companyId === remade.companyId),
          }),
        ],
  network: ({ phase, environment }) =>
    phase === 'faults' ? [networkFaults({ links: environment.links, maxFaultMs: MAX_FAULT_MS })] : [],
  clock: ({ phase, environment }) =>
    phase === 'clock steps' && environment.setClockOffset ? [clockStepper(environment.setClockOffset)] : [],
};

const POSTGRES: Readonly<Record<string, MakeActors>> = {
  ...BOTH,
  writers: (stage) =>
    times(stage.options.writers, (number) =>
      insertWriter(stage.environment.databaseUrl, nameIn(stage, `writer-${number}`), stage.companyIds),
    ),
  contention: (stage) =>
    times(stage.options.writers, (number) =>
      contentionWriter(stage.environment.databaseUrl, nameIn(stage, `contender-${number}`), stage.companyIds),
    ),
  history: (stage) => [
    historyWriter(stage.environment.databaseUrl, stage.companyIds, minHistoryAgeMsIn(stage)),
  ],
  copying: ({ environment }) => [copiedWriter(environment.databaseUrl)],
  columns: ({ phase, environment }) => (phase === 'calm' ? [schemaChanger(environment.databaseUrl)] : []),
  crash: ({ phase, environment }) =>
    phase === 'faults' && environment.server ? [serverCrasher(environment.server)] : [],
  cut: ({ phase, environment }) => (phase === 'faults' ? [connectionCutter(environment.databaseUrl)] : []),
};

const SQLITE: Readonly<Record<string, MakeActors>> = {
  ...BOTH,
  statements: (stage) =>
    times(2, (number) =>
      statementWriter({
        file: fileOf(stage),
        name: nameIn(stage, `statement-${number}`),
        companyIds: stage.companyIds,
        ids: CONTENDED_IDS,
      }),
    ),
  crash: ({ phase, options, environment }) =>
    phase === 'faults' ? [instanceCrasher(options.instances, environment.installation.crash)] : [],
};

/** The actors that were chosen, as far as they have something to do in this phase. */
export function makeActors(stage: Stage): Actor[] {
  const table = stage.options.store === 'postgres' ? POSTGRES : SQLITE;
  return [...stage.options.actors].flatMap((name) => table[name]?.(stage) ?? []);
}
