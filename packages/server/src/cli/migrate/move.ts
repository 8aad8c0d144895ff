import { type MoveOutcome, move } from '../../store/transfer/transfer.ts';
import { type CommandContext, loadConfig } from '../context.ts';
import { exitCodeOf } from '../exit.ts';
import { writeLine } from '../output.ts';

import { type AddressFlags, type MoveAddresses, readAddresses } from './addresses.ts';
import { withEnds } from './ends.ts';
import { MoveProgress } from './progress.ts';
import { refusal } from './refusal.ts';
import { reportMove } from './report.ts';

export interface MoveFlags extends AddressFlags {
  readonly replaceCharacters?: true;
  readonly json?: true;
}

export async function moveDatabase(context: CommandContext, flags: MoveFlags): Promise<void> {
  const config = await loadConfig(context);
  const addresses = readAddresses(flags, config, context.cwd);
  const outcome = await run(context, flags, addresses);
  if (outcome.kind !== 'moved') throw refusal(outcome, addresses);
  await reportMove(outcome, { context, config, addresses, json: flags.json === true });
}

async function run(
  context: CommandContext,
  flags: MoveFlags,
  addresses: MoveAddresses,
): Promise<MoveOutcome> {
  const { clock, signal } = context;
  const progress = new MoveProgress(context);
  const { onProgress } = progress;
  const replaceCharacters = flags.replaceCharacters === true;
  try {
    return await withEnds(addresses, flags, (source, target) =>
      move({ source, target, clock, signal, replaceCharacters, onProgress }),
    );
  } catch (error) {
    if (!signal.aborted) throw error;
    progress.clear();
    await writeLine(context.stderr, 'Interrupted. Run the same command again to go on.');
    throw exitCodeOf(signal);
  } finally {
    progress.clear();
  }
}
