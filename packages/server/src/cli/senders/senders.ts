import type { Command } from 'commander';
import { toIso } from '../../lib/clock.ts';
import { logOfSender } from '../../status/attempt-log.ts';
import type { SenderStatus } from '../../status/report.ts';
import { senderPages } from '../../status/senders.ts';
import { stateOf } from '../../status/senders-endpoint.ts';
import { agoOf } from '../../status/sentences.ts';
import { findCompany } from '../accounts/organisation.ts';
import { type Logged, registerLog } from '../attempt-log.ts';
import { addCommand } from '../command.ts';
import { type CommandContext, withStore } from '../context.ts';
import { printList, writeLine } from '../output.ts';

export function registerSenders(program: Command, context: CommandContext): void {
  const senders = addCommand(program, context, {
    name: 'senders',
    description: 'list who sends leads over HTTP, and what was refused of it',
    options: {
      '--company <id>': 'only the senders of this company',
      '--json': 'print an array of senders',
    },
    help: `
Every token that sends leads to POST {base_url}/leads is a sender. LAST LEAD is the time of the last request whose leads
were stored; ACCEPTED is the number of leads and REFUSED that of refused requests in the last 30 days. Figures are at most
5 seconds old. \`leadtap doctor\` says what to do about a sender with a problem, and \`leadtap senders log NAME\` shows what
one of them sent, and why it was refused.

--json has id, name, tokenId, userId, companyId, source, tokenExpiresAt (null: never), lastRequestAt, lastAcceptedAt,
lastRefusal: { at, code, fields } or null, accepted30d, refused30d, last24h: the last 24 hours, each { leads, failed } or
null (not known), the current one last, refused: { kept, requests, firstAt, lastAt, unkept,
unkeptSince, unkeptAt, code, fields, questions } of those that are kept, and of those of the last 7 days that are not, or null,
isRevoked, isReplaced (another token of its user, name and source has sent since), isInUse (it has sent within 30 days),
problems, level (good, warning, error, unknown or inactive) and message. There are names of fields, never their values.`,
    examples: ['leadtap senders', 'leadtap senders --company soleil --json'],
    run: listSenders,
  });
  registerLog(senders, context, {
    group: 'senders',
    description: 'print what a sender sent, when, and why it was refused',
    help: `
The last 100 entries of 30 days: leads that were stored, and refused requests with the names of the fields, never their values.`,
    async *pages(store, config, now) {
      for await (const page of senderPages(store, { isIntakeOff: !config.intake }, now))
        yield page.map((sender): Logged => ({ ...sender, ...logOfSender(sender) }));
    },
  });
}

interface SendersOptions {
  readonly company?: string;
  readonly json?: true;
}

const listSenders = (context: CommandContext, { company: companyId, json }: SendersOptions): Promise<void> =>
  withStore(context, async (store, config) => {
    if (companyId !== undefined) await findCompany(store, companyId);
    const now = context.clock();
    const moment = { generatedAt: toIso(now) };
    const pages = senderPages(store, { companyId, isIntakeOff: !config.intake }, now);
    const hasCompany = companyId === undefined;
    const toRow = (sender: SenderStatus): (string | null)[] => [
      sender.name ?? sender.tokenId,
      sender.userId,
      sender.lastAcceptedAt === null ? 'never' : agoOf(moment, sender.lastAcceptedAt),
      String(sender.accepted30d),
      String(sender.refused30d),
      stateOf(sender, moment).message,
      ...(hasCompany ? [sender.companyId] : []),
    ];
    const count = await printList(context, pages, json, {
      toJson: (sender) => {
        const { level, message } = stateOf(sender, moment);
        return { ...sender, level, message };
      },
      headings: [
        ...['NAME', 'USER', 'LAST LEAD', 'ACCEPTED', 'REFUSED', 'STATE'],
        ...(hasCompany ? ['COMPANY'] : []),
      ],
      toRow,
    });
    if (count > 0 || json) return;
    const off = config.intake ? '' : ' LEADTAP_INTAKE is off: leads over HTTP are refused.';
    await writeLine(context.stderr, `No lead has come in over HTTP yet.${off}`);
  });
