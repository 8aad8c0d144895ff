/** Names and commands in the sentences of the diagnosis. */
import { PROBLEMS, type ProblemCode, type ProblemEntry } from '@leadtap/contract';
import { printable, quoteForShell, toOneLine } from '../lib/escape.ts';
import { formatCount, formatDuration } from '../lib/formats.ts';
import type { ConsumerStatus, Facts } from './report.ts';

export type Named = Pick<ConsumerStatus, 'name' | 'tokenId' | 'userId'> &
  Partial<Pick<ConsumerStatus, 'hook'>>;

/** Until the moment of the facts. */
export const secondsSince = ({ generatedAt }: Pick<Facts, 'generatedAt'>, time: string): number =>
  (Date.parse(generatedAt) - Date.parse(time)) / 1000;

export const agoOf = (moment: Pick<Facts, 'generatedAt'>, time: string): string =>
  `${formatDuration(secondsSince(moment, time))} ago`;

const MAX_NAMES = 5;
const MAX_NAME_LENGTH = 60;

/** In one line of a sentence: without those that begin a command; cut. */
export const inSentence = (text: string): string => {
  const characters = [...toOneLine(text).replaceAll('`', "'")];
  const isCut = characters.length > MAX_NAME_LENGTH;
  return isCut ? `${characters.slice(0, MAX_NAME_LENGTH).join('').trim()}…` : characters.join('');
};

/** As part of a command that a person copies. The placeholder stands for what cannot be copied safely. */
export const inCommand = (text: string, placeholder: string): string =>
  text.length <= MAX_NAME_LENGTH && printable(text) === text && !/[`\\]/.test(text)
    ? quoteForShell(text)
    : placeholder;

/** The host that leads are sent to. Null: it polls. */
export const hostOf = ({ hook }: Pick<Named, 'hook'>): string | null => hook?.host ?? null;

/** The name of the token, or else its id; the user is known as well. One token may send leads to several hosts. */
export function nameOf(consumer: Omit<Named, 'userId'>): string {
  const { name, tokenId } = consumer;
  const token = name || (tokenId === null ? 'tokens without an id' : `token ${tokenId}`);
  const host = hostOf(consumer);
  return host === null || host === name ? token : `${token} → ${host}`;
}

export const describe = (consumer: Named): string =>
  `${inSentence(nameOf(consumer))} (user ${inSentence(consumer.userId)})`;

/** At the beginning of a sentence. */
export function subjectOf(consumer: Named): string {
  const text = describe(consumer);
  return consumer.name ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

/** At most five, and the number of the others. */
export function listNames(found: readonly Named[], count = found.length): string {
  const names = found.slice(0, MAX_NAMES).map((consumer) => describe(consumer));
  const others = count - names.length;
  return others > 0 ? `${names.join(', ')} and ${formatCount(others)} more` : names.join(', ');
}

/** `1 lead waits`, `2 leads wait` */
export const countOf = (count: number, one: string, many: string): string =>
  count === 1 ? `1 ${one}` : `${formatCount(count)} ${many}`;

/** In one sentence. */
export const MAX_PLACES = 5;

/** More pending leads are not counted, so that a consumer that stopped months ago does not slow down the page. */
export const MAX_PENDING_LEADS = 1000;

export const countUpTo = (count: number): string =>
  count >= MAX_PENDING_LEADS ? `${formatCount(MAX_PENDING_LEADS)}+` : formatCount(count);

/** `1 lead waits`, `1,000+ leads wait` */
export const pendingText = (count: number): string =>
  count === 1 ? '1 lead waits' : `${countUpTo(count)} leads wait`;

export function issueCommand({ userId, name }: Pick<ConsumerStatus, 'userId' | 'name'>): string {
  const flag = name === null ? '' : ` --name ${inCommand(name, 'NAME')}`;
  return `\`leadtap token issue --user ${inCommand(userId, 'ID')}${flag}\``;
}

export const revokeCommand = ({ tokenId }: Pick<ConsumerStatus, 'tokenId'>): string =>
  `\`leadtap token revoke ${inCommand(tokenId ?? 'ID', 'ID')}\``;

export const forgetCommand = (_consumer: Pick<ConsumerStatus, 'tokenId' | 'userId'>): string =>
  '`leadtap connections handled NAME`';

export const hooksCommand = ({ userId }: Pick<ConsumerStatus, 'userId'>): string =>
  `\`leadtap hooks list --user ${inCommand(userId, 'ID')}\``;

export const consumersCommand = ({ companyId }: Pick<ConsumerStatus, 'companyId'>): string =>
  `\`leadtap connections --company ${inCommand(companyId, 'ID')}\``;

/** Why a request was refused: `: the access token has expired (401 token-expired)`. */
export function refusalText(code: ProblemCode): string {
  const { status, title } = PROBLEMS[code];
  return `: ${title.charAt(0).toLowerCase()}${title.slice(1)} (${status} ${code})`;
}

/** What to do about a refusal, for one user if it is known. */
export function fixOf(code: ProblemCode, userId?: string): string {
  const { operator, integrator }: ProblemEntry = PROBLEMS[code];
  if (operator === undefined) return `Tell the client: ${integrator}`;
  return userId === undefined
    ? operator
    : operator.replace(/(--user|user set) ID\b/g, (_, before) => `${before} ${inCommand(userId, 'ID')}`);
}
