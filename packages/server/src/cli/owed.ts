/** Commands that end connections or delete leads say what is owed then, and ask whether it is handled. */
import { PHRASES } from '@leadtap/contract';
import type { Config } from '../config.ts';
import { markHandled } from '../connections/endpoint.ts';
import { type Report, type ReportQuery, readReport } from '../connections/report.ts';
import type { JudgedRow } from '../connections/sentence.ts';
import { printable } from '../lib/escape.ts';
import type { Store } from '../store/store.ts';
import { type ConfirmFlags, confirm, type HandledFlag, isInteractive } from './confirm.ts';
import { reportSourcesOf } from './connections.ts';
import type { CommandContext } from './context.ts';
import { writeHint, writeLine } from './output.ts';

/** What is owed is read before and after the work: only what the work has changed is said. */
export async function settleOwed<Result>(
  { context, store, config }: { context: CommandContext; store: Store; config: Config },
  { handled, yes }: HandledFlag & Pick<ConfirmFlags, 'yes'>,
  query: Pick<ReportQuery, 'companyId' | 'userId'>,
  work: () => Promise<Result>,
): Promise<Result> {
  const sources = await reportSourcesOf(store, config, context);
  const read = (): Promise<Report> => readReport(sources, { ...query, hasDoor: false });
  const before = new Map((await read()).rows.map((row) => [row.facts.connection.id, row]));
  const result = await work();
  const owing = (await read()).rows.filter((row) => hasBegun(before.get(row.facts.connection.id), row));
  for (const { facts, judgement } of owing) {
    const { id, name } = facts.connection;
    const { stdout } = context;
    const fix = handled ? '' : ` ${judgement.fix}`;
    await writeHint(context, `${printable(name)}: ${judgement.message}.${fix}`);
    const question = `${PHRASES.handled}: ${printable(name)}?`;
    const mayAsk = !yes && isInteractive(context);
    if (!handled && !(mayAsk && (await confirm(question, context)))) continue;
    await markHandled(sources, id, 'the operator');
    await writeLine(stdout, `What ${printable(name)} is owed is marked as handled.`);
  }
  return result;
}

/** It has ended with leads owed, or more of them were deleted by age. */
function hasBegun(before: JudgedRow | undefined, { facts, judgement }: JudgedRow): boolean {
  if (facts.connection.pruned > (before?.facts.connection.pruned ?? 0)) return true;
  return judgement.rule === 'ended' && before?.judgement.state !== 'ended';
}
