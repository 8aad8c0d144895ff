import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { type Actor, type ActorContext, PLACES } from '../actor.ts';
import { isDeclaredCause } from '../declared.ts';
import type { Change } from '../judge/history.ts';
import type { Commit } from '../judge/recorder.ts';

export interface ImportProcessOptions {
  readonly name: string;
  readonly companyIds: readonly string[];
  /** Ids that others write and delete as well. */
  readonly contendedIds: readonly string[];
  /** Companies whose leads a trigger of the operator's copies into another one. */
  readonly copiedTo?: Readonly<Record<string, string>>;
  spawnLeadtap(argv: readonly string[]): ChildProcessWithoutNullStreams;
  readonly toleratesFaults?: boolean;
}

/** A few batches of lines, then the process is closed or killed. */
const BATCHES = 6;

/** A busy machine is slow; an import that stalls waits for much longer. */
const ACKNOWLEDGE_LIMIT_MS = 600_000;
const giveUp = (): Promise<undefined> => wait(ACKNOWLEDGE_LIMIT_MS, undefined, { ref: false });

/** `leadtap leads import - --acknowledge` beside everything else. Some are killed with SIGKILL. */
export const importProcess = (options: ImportProcessOptions): Actor => ({
  name: 'leads import',
  run: async (context) => {
    const unsettled: Commit[] = [];
    for (let done = 0; context.goesOn(done); done += 1) await runImport(options, context, unsettled);
  },
});

async function runImport(
  options: ImportProcessOptions,
  context: ActorContext,
  unsettled: Commit[],
): Promise<void> {
  const { recorder, random, goesOn, pause } = context;
  const child = options.spawnLeadtap(['leads', 'import', '-', '--acknowledge']);
  const closed = once(child, 'close');
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const isKilled = random.chance(30);
  let isRefused = false;
  for (let batch = 0, written = 0; batch < BATCHES && goesOn(0); batch += 1) {
    const changes = makeBatch(options, context);
    const own = changes.filter(({ companyId }) => options.companyIds.includes(companyId));
    const commit = recorder.commit(changes);
    child.stdin.write(own.map(toLine).join(''));
    written += own.length;
    if (isKilled && batch === BATCHES - 1) {
      unsettled.push(commit);
      break;
    }
    const isInTime = await Promise.race([isAcknowledged(lines, written), giveUp()]);
    if (isInTime === undefined) {
      recorder.complain(
        `leads import has acknowledged nothing for ${ACKNOWLEDGE_LIMIT_MS / 1000} s: ${stderr.trim()}`,
      );
      child.kill('SIGKILL');
    }
    if (!isInTime) {
      isRefused = true;
      unsettled.push(commit);
      break;
    }
    commit.acknowledge();
    recorder.count('leads imported', own.length);
    for (const earlier of unsettled.splice(0)) earlier.settle();
    await pause(random.below(50));
  }
  if (isKilled) child.kill('SIGKILL');
  child.stdin.end();
  child.stdout.resume();
  const [code] = await closed;
  recorder.count(isKilled ? 'imports killed' : 'imports');
  if (!isKilled && (isRefused || code !== 0) && !options.toleratesFaults && !isDeclaredCause(stderr))
    recorder.complain(`leads import ended with ${code}: ${stderr.trim()}`);
}

function makeBatch(options: ImportProcessOptions, { random, recorder }: ActorContext): Change[] {
  const { name, companyIds, contendedIds, copiedTo = {} } = options;
  const batch = new Map<string, Change>();
  for (let count = 1 + random.below(5); count > 0; count -= 1) {
    const companyId = companyIds[random.below(companyIds.length)] ?? '';
    const copy = copiedTo[companyId];
    const isContended = copy === undefined && contendedIds.length > 0 && random.chance(30);
    const id =
      (isContended && contendedIds[random.below(contendedIds.length)]) || `${name}-${recorder.next()}`;
    const version = `${name}.${recorder.next()}`;
    batch.set(`${companyId}\0${id}`, { companyId, id, state: { ...random.pick(...PLACES), version } });
    if (copy !== undefined)
      batch.set(`${copy}\0${id}`, {
        companyId: copy,
        id,
        state: { branchId: null, departmentId: null, version },
      });
  }
  return [...batch.values()];
}

const toLine = ({ companyId, id, state }: Change): string =>
  `${JSON.stringify({ companyId, id, branchId: state?.branchId, departmentId: state?.departmentId, firstName: state?.version })}\n`;

/** False when the process ended without it. */
async function isAcknowledged(lines: AsyncIterator<string, undefined>, written: number): Promise<boolean> {
  for (;;) {
    const { done, value } = await lines.next();
    if (done) return false;
    if (Number(/^committed (\d+)$/.exec(value)?.[1] ?? 0) >= written) return true;
  }
}
