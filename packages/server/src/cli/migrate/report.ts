import { type Config, defaultKeyFile, describeDatabase } from '../../config.ts';
import { rowsOf, type Tallies } from '../../store/transfer/checksum.ts';
import { LEADS } from '../../store/transfer/tables.ts';
import type { MoveOutcome } from '../../store/transfer/transfer.ts';
import type { CommandContext } from '../context.ts';
import { Table, writeJson, writeLine } from '../output.ts';
import type { MoveAddresses } from './addresses.ts';
import { describeUnkeepable, listed } from './refusal.ts';

type Moved = Extract<MoveOutcome, { kind: 'moved' }>;

export interface ReportParts {
  readonly context: CommandContext;
  readonly config: Config;
  readonly addresses: MoveAddresses;
  readonly json: boolean;
}

/** What was moved, to whoever reads it; what to do next, to a person. */
export async function reportMove(outcome: Moved, parts: ReportParts): Promise<void> {
  const { context, json } = parts;
  if (json) await writeJson(context.stdout, toJson(outcome, parts.addresses));
  else await writeTables(outcome, context);
  for (const sentence of [...replacements(outcome), ...nextSteps(parts)])
    await writeLine(context.stderr, sentence);
}

const leadsByCompany = ({ tallies }: Moved): Tallies => tallies.get(LEADS) ?? new Map();

const counts = ({ tallies }: Moved): [string, number][] =>
  [...tallies].map(([table, tally]) => [table.name, rowsOf(tally)]);

const toJson = (outcome: Moved, { from, to }: MoveAddresses) => ({
  from: describeDatabase(from),
  to: describeDatabase(to),
  verified: true,
  rows: Object.fromEntries(counts(outcome)),
  leads: [...leadsByCompany(outcome)].map(([companyId, { rows, sha256 }]) => ({ companyId, rows, sha256 })),
  replaced: outcome.replaced.total,
});

async function writeTables(outcome: Moved, { stdout }: CommandContext): Promise<void> {
  const companies = [...leadsByCompany(outcome)];
  const table = new Table(stdout, ['COMPANY', 'LEADS', 'SHA256']);
  await table.add(companies.map(([id, { rows, sha256 }]) => [id, String(rows), sha256]));
  const all = counts(outcome).map(([name, rows]) => `${rows} ${name.replace('_', ' ')}`);
  await writeLine(stdout, `moved and verified: ${all.join(', ')}`);
}

function replacements({ replaced: { total, first } }: Moved): string[] {
  if (total === 0) return [];
  return [
    `U+FFFD was written in ${total === 1 ? 'a value' : `${total} values`}:`,
    ...listed(first, total, describeUnkeepable),
  ];
}

function nextSteps(parts: ReportParts): string[] {
  const { from, to } = parts.addresses;
  return [
    keySentence(parts),
    `Start the service with the LEADTAP_DATABASE_URL of ${describeDatabase(to)}, and use it for all commands.`,
    `No lead, user or token was changed in ${describeDatabase(from)}. What is written to it from now on reaches nobody.`,
  ];
}

/** Tokens are signed, and the database does not hold the key. */
function keySentence({ config, context: { cwd }, addresses: { from, to } }: ReportParts): string {
  const key = config.signingKey;
  if ('secrets' in key) return 'Tokens stay valid if the service keeps its LEADTAP_SIGNING_KEY.';
  const [before, after] = [defaultKeyFile(from, cwd), defaultKeyFile(to, cwd)];
  if (key.file !== before && key.file !== after)
    return `Tokens stay valid if the service keeps its signing key, ${key.file} (LEADTAP_SIGNING_KEY_FILE).`;
  if (before === after)
    return `Tokens stay valid: the service finds its signing key where it was, ${before}.`;
  return `Tokens stay valid if the service keeps its signing key, ${before}: copy it to ${after}, or set LEADTAP_SIGNING_KEY_FILE.`;
}
