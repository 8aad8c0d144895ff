/** The sentences of the rules about single senders: what is wrong with one, and what to do. */
import { IMPORT_FIELDS, PROBLEMS, type ProblemCode } from '@leadtap/contract';
import { tokenKeyText } from '../accounts/token-key.ts';
import { REFUSED_DAYS } from '../intake/store.ts';
import { fieldOfName } from '../leads/field-names.ts';
import { CUSTOM_FIELD_PREFIX } from '../leads/parse-lead.ts';
import { OTHER_NAME } from '../leads/shown-names.ts';
import { formatCount, formatDuration } from '../lib/formats.ts';
import type { ConsumerRow, Found } from './consumer-problems.ts';
import {
  type Facts,
  SENDER_PROBLEMS,
  type SenderProblem,
  type SenderRefused,
  type SenderStatus,
  type StatusProblem,
} from './report.ts';
import {
  agoOf,
  countOf,
  describe,
  fixOf,
  inCommand,
  inSentence,
  listNames,
  revokeCommand,
  secondsSince,
  subjectOf,
} from './sentences.ts';

type Moment = Pick<Facts, 'generatedAt'>;
type FoundSender = Found & ConsumerRow;
type DescribeSender = (sender: SenderStatus, moment: Moment) => FoundSender;

/** Describes the sender with this problem that sent last, and names the others. */
export function findSenders(
  facts: Facts,
  problem: SenderProblem,
  severity: StatusProblem['severity'],
): Found | undefined {
  const { senders } = facts;
  const [first, ...others] = senders?.listed.filter(({ problems }) => problems.includes(problem)) ?? [];
  if (!senders || !first) return undefined;
  const subjects = [first, ...others].map((sender) => {
    const { message, fix } = DESCRIPTIONS[problem](sender, facts);
    return { key: `sender\0${tokenKeyText(sender)}`, name: describe(sender), severity, message, fix };
  });
  const { row: _, userFix: __, ...found } = DESCRIPTIONS[problem](first, facts);
  const more = senders.problems[problem] - 1;
  if (more === 0) return { ...found, subjects };
  // Their requests may have been refused for other reasons.
  const what = problem === 'leads-refused' ? 'refused requests' : 'the same problem';
  const names = `${countOf(more, 'more has', 'more have')} ${what}: ${listNames(others, more)}.`;
  const hasMoreSubjects = more > others.length;
  return { ...found, message: `${found.message} ${names}`, subjects, hasMoreSubjects };
}

/** The most urgent problem of one sender. */
export function describeSender(sender: SenderStatus, moment: Moment): FoundSender | undefined {
  const problem = SENDER_PROBLEMS.find((one) => sender.problems.includes(one));
  return problem && DESCRIPTIONS[problem](sender, moment);
}

const KEPT_MS = REFUSED_DAYS * 86_400_000;

const describeRefused: DescribeSender = (sender, moment) => {
  const { refused } = sender;
  if (!refused) throw new Error('nothing of the sender was refused');
  const { code, fields } = refused;
  const row = rowOf(sender, refused, moment);
  const hint = code === null ? undefined : hintOf(sender, code, fields);
  const fixes = [hint?.fix, ...keptFixes(sender, refused), ...unkeptFixes(sender, refused)];
  const userFixes = [hint?.userFix, ...keptUserFixes(refused), ...unkeptUserFixes(refused)];
  return {
    ...{ message: `${subjectOf(sender)}: ${row}.`, row },
    fix: fixes.filter((fix) => fix !== undefined).join(' '),
    userFix: userFixes.filter((fix) => fix !== undefined).join(' '),
  };
};

/** Requests that are kept and those that are not are named apart. */
function rowOf({ lastRefusal }: SenderStatus, refused: SenderRefused, moment: Moment): string {
  const { kept, requests, firstAt, lastAt, unkept, unkeptSince, unkeptAt, code, fields } = refused;
  const ago = agoOf(moment, lastAt);
  // The questions of a form are no fields.
  const names = fields.length === 0 || code === 'no-contact' ? '' : `: ${listFields(fields)}`;
  const cause = code === null ? '' : `, with ${PROBLEMS[code].status} ${code}${names}`;
  const parts: string[] = [];
  // Each refusal is recorded: what is not kept since a later time was deleted.
  const isDeleted = unkeptAt !== null && lastRefusal !== null && lastRefusal.at < unkeptAt;
  const unkeptAgo = unkeptAt === null ? '' : `${isDeleted ? 'was deleted ' : ''}${agoOf(moment, unkeptAt)}`;
  if (kept > 0) {
    const period = formatDuration(secondsSince(moment, firstAt ?? lastAt));
    const when = requests === 1 ? ago : `in the last ${period}, the last one ${ago}`;
    parts.push(`${countOf(requests, 'request was', 'requests were')} refused ${when}${cause}`);
    if (unkeptAt !== null)
      parts.push(`${countOf(unkept, 'more is', 'more are')} not kept, the last one ${unkeptAgo}`);
  } else if (isDeleted && Date.parse(unkeptAt) - Date.parse(lastRefusal.at) >= KEPT_MS) {
    const count = countOf(unkept, 'request was', 'requests were');
    parts.push(
      `${count} refused more than ${REFUSED_DAYS} days ago and not accepted, the last one ${unkeptAgo}`,
    );
  } else {
    const isOfOneDay = isDeleted || unkeptSince === null || unkeptAt?.startsWith(unkeptSince);
    const since = isOfOneDay ? '' : ` since ${unkeptSince}`;
    const count = countOf(
      unkept,
      `request${since} was refused and is`,
      `requests${since} were refused and are`,
    );
    parts.push(`${count} not kept, the last one ${unkeptAgo}${cause}`);
  }
  return parts.join('; ');
}

const areUnkept = ({ unkept }: SenderRefused): string =>
  unkept === 1
    ? '1 refused request is not kept: the sender must send it again.'
    : `${formatCount(unkept)} refused requests are not kept: the sender must send them again.`;

function unkeptFixes({ tokenId }: SenderStatus, refused: SenderRefused): string[] {
  if (refused.unkept === 0) return [];
  const remove = `leadtap leads refused delete --all --connection ${inCommand(tokenId ?? 'ID', 'ID')}`;
  const also = refused.kept > 0 ? ', and deletes those that are kept' : '';
  return [areUnkept(refused), `It is said for 7 days. \`${remove}\` ends it before${also}.`];
}

const unkeptUserFixes = (refused: SenderRefused): string[] =>
  refused.unkept === 0
    ? []
    : [areUnkept(refused), 'It is said for 7 days. When that is done, the operator can end it before.'];

const areKept = ({ kept }: SenderRefused): string => countOf(kept, 'request is kept', 'requests are kept');

const keptUserFixes = (refused: SenderRefused): string[] =>
  refused.kept === 0
    ? []
    : [`${areKept(refused)}: the operator can accept ${refused.kept === 1 ? 'it' : 'them'}.`];

const MAX_FIELDS = 5;

export function listFields(fields: readonly string[]): string {
  const names = fields.slice(0, MAX_FIELDS).map(inSentence);
  const others = fields.length - names.length;
  return others > 0 ? `${names.join(', ')} and ${others} more` : names.join(', ');
}

type Hint = Pick<FoundSender, 'fix' | 'userFix'>;

/** The same for the operator and the user. */
const both = (fix: string): Hint => ({ fix, userFix: fix });

const SEND_WITH_POST =
  'Leads are sent with `POST` to `{base_url}/leads`, without a slash at the end: correct it in the sender.';
const SWITCH_ON = 'Set `LEADTAP_INTAKE=on`, or `urls` for tokens in addresses, and start the service again.';
const ASK_TO_SWITCH_ON = 'Ask the operator to switch the intake on.';
const NOT_ACCEPTED =
  'The key that signed its token was removed, or the token is in the address and may also read leads, or does not follow `Bearer` and one space.';
const NEW_TOKEN = 'Ask the operator for a new token, and put it into the sender.';

/** About this code and these fields. */
function hintOf(sender: SenderStatus, code: ProblemCode, fields: readonly string[]): Hint {
  // Without its service, the command cannot be named.
  if (code === 'no-contact' && sender.source !== null) return contactHint(sender);
  switch (code) {
    case 'token-missing':
      return {
        fix: 'Its token is in the address, or in the header `Authorization` without `Bearer` and a space before it: correct it in the sender, or for tokens in addresses set `LEADTAP_INTAKE=urls` and start the service again.',
        userFix:
          'Its token is in the address, or in the header `Authorization` without `Bearer` and a space before it: correct it in the sender, or ask the operator to accept tokens in addresses.',
      };
    case 'method-not-allowed':
      return both(`Its method or its address is wrong. ${SEND_WITH_POST}`);
    case 'no-such-resource':
      return sender.problems.includes('intake-off')
        ? { fix: `LEADTAP_INTAKE is off. ${SWITCH_ON}`, userFix: ASK_TO_SWITCH_ON }
        : both(`Its address is wrong, or the intake was switched off. ${SEND_WITH_POST}`);
    case 'malformed-request':
      return both(
        'It sends two tokens, or what it sends is no valid JSON, form or HTTP: correct it in the sender.',
      );
    case 'unsupported-media-type':
      return both(
        'What it sends is no JSON or form, or not in UTF-8, or has a `Content-Encoding`: correct it in the sender.',
      );
    case 'token-expired':
      return {
        fix: `Its token has expired. Put a new one into the sender: ${issueCommand(sender)}.`,
        userFix: `Its token has expired. ${NEW_TOKEN}`,
      };
    case 'token-revoked':
      return {
        fix: `Its token was revoked. Switch the sender off, or put a new token into it: ${issueCommand(sender)}.`,
        userFix: `Its token was revoked. Switch the sender off, or ask the operator for a new token.`,
      };
    case 'token-invalid':
      return {
        fix: `${NOT_ACCEPTED} Put a new token into the sender: ${issueCommand(sender)}.`,
        userFix: `${NOT_ACCEPTED} ${NEW_TOKEN}`,
      };
    case 'insufficient-scope':
      return {
        fix: `Its token may not send leads. Put another one into the sender: ${issueCommand(sender)}.`,
        userFix: 'Its token may not send leads. Ask the operator for one with the scope `leads:write`.',
      };
    case 'user-not-found':
      return {
        fix: `User ${sender.userId} was removed, or never existed. Put a token of another user into the sender: ${issueCommand({ ...sender, userId: 'ID' })}, or switch the sender off.`,
        userFix:
          'Its user was removed. Ask the operator for a token of another user, and put it into the sender, or switch the sender off.',
      };
    case 'invalid-lead':
      return both(fieldsHint(sender, fields));
    default: {
      const { integrator } = PROBLEMS[code];
      return { fix: fixOf(code, sender.userId), userFix: integrator };
    }
  }
}

/** For the user, about one refusal. */
export const userHintOf = (sender: SenderStatus, code: ProblemCode, fields: readonly string[]): string =>
  hintOf(sender, code, fields).userFix;

function contactHint(sender: SenderStatus): Hint {
  const cause = 'No name, e-mail address or phone number was found in its answers.';
  return {
    fix: `${cause} Put a token into the form that has the field of a question: ${issueCommand(sender, ' --map QUESTION=email')}.`,
    userFix: `${cause} Ask the operator for a token that has the field of a question, such as \`email\`, and put it into the form.`,
  };
}

const isLeadField = (field: string): boolean =>
  IMPORT_FIELDS.some(({ name }) => name === field) || field.startsWith(CUSTOM_FIELD_PREFIX);

const PLACES = ['companyId', 'branchId', 'departmentId', 'statusValue'];

function fieldsHint({ source }: SenderStatus, fields: readonly string[]): string {
  const unknown = fields.filter((field) => !isLeadField(field) && field !== OTHER_NAME);
  const wrong = fields.filter((field) => isLeadField(field) && !PLACES.includes(field));
  const places = fields.filter((field) => PLACES.includes(field));
  const hints = [
    unknown.length > 0 && source === null
      ? `Leadtap has no field ${listFields(unknown)}: ${renaming(unknown)}.`
      : undefined,
    fields.includes(OTHER_NAME) && source === null
      ? 'A name in the body is no field and may be a value, so it is not shown: correct it in the sender.'
      : undefined,
    wrong.length > 0
      ? `The values of ${listFields(wrong)} are not valid: correct them in the sender.`
      : undefined,
    places.length > 0
      ? `${listFields(places)}: it does not exist, or lies outside the access level of the user.`
      : undefined,
  ].filter((hint) => hint !== undefined);
  if (hints.length === 0 && source !== null && fields.length === 0)
    return 'The body is not a new submission, or has no answer. Switch off other events in the form service: only new submissions are leads.';
  return hints.join(' ') || 'The body is not 1 to 1,000 leads with content: correct what the sender sends.';
}

/** `rename it in the sender to \`firstName\`` */
function renaming(unknown: readonly string[]): string {
  const [first = ''] = unknown;
  if (unknown.length === 1) {
    const field = fieldOfName(first);
    return `rename it in the sender${field === undefined ? '' : ` to \`${field}\``}, or send it in \`customFields\``;
  }
  const known = unknown.slice(0, MAX_FIELDS).flatMap((name) => {
    const field = fieldOfName(name);
    return field === undefined ? [] : [`${inSentence(name)} to \`${field}\``];
  });
  const names = known.length === 0 ? '' : ` (${known.join(', ')})`;
  return `rename them in the sender${names}, or send them in \`customFields\``;
}

function keptFixes({ tokenId }: SenderStatus, refused: SenderRefused): string[] {
  const { kept, code, fields } = refused;
  if (kept === 0) return [];
  const them = kept === 1 ? 'it' : 'them';
  const shown = `${areKept(refused)}: \`leadtap leads refused list\` shows ${them}`;
  const all = `--all --connection ${inCommand(tokenId ?? 'ID', 'ID')}`;
  const maps = code === 'no-contact' ? ['QUESTION=email'] : mapsOf(fields);
  if (code === 'invalid-lead' && maps.length === 0)
    return [
      `${shown}, \`leadtap leads refused show ID\` a body, \`leadtap leads refused delete ${all}\` deletes ${them}.`,
    ];
  const isSure = code !== 'invalid-lead' && code !== 'no-contact';
  const map = isSure ? '' : maps.map((one) => ` --map ${one}`).join('');
  const what = isSure ? them : kept === 1 ? 'it if it is valid then' : 'those that are valid then';
  return [`${shown}, \`leadtap leads refused accept ${all}${map}\` stores ${what}.`];
}

/** A value that is not valid is kept as a custom field. */
const mapsOf = (fields: readonly string[]): readonly string[] =>
  fields
    .filter((name) => !name.startsWith(CUSTOM_FIELD_PREFIX))
    .slice(0, MAX_FIELDS)
    .map((name) => {
      if (name === OTHER_NAME) return 'NAME=email';
      const field = isLeadField(name) ? undefined : fieldOfName(name);
      return inCommand(`${name}=${field ?? `${CUSTOM_FIELD_PREFIX}${name}`}`, 'NAME=FIELD');
    });

/** With the same scope and source as before. */
function issueCommand({ userId, name, source }: SenderStatus, map = ''): string {
  const flags = [
    `--user ${inCommand(userId, 'ID')}`,
    source === null ? '--scope leads:write' : `--source ${inCommand(source, 'SERVICE')}`,
    ...(name === null ? [] : [`--name ${inCommand(name, 'NAME')}`]),
  ];
  return `\`leadtap token issue ${flags.join(' ')}${map}\``;
}

const describeExpired: DescribeSender = (sender, moment) => {
  const row = `its token expired ${agoOf(moment, sender.tokenExpiresAt ?? '')}: what it sends is refused`;
  return {
    ...{ message: `${subjectOf(sender)}: ${row}.`, row },
    fix: `Put a new token into the sender: ${issueCommand(sender)}. If it is no longer needed, revoke the old one: ${revokeCommand(sender)}.`,
    userFix: `${NEW_TOKEN} If it is no longer needed, ask for the old one to be revoked.`,
  };
};

const describeExpiring: DescribeSender = (sender, moment) => {
  const left = formatDuration(-secondsSince(moment, sender.tokenExpiresAt ?? ''));
  return {
    message: `The token of ${describe(sender)} expires in ${left}. What it sends is refused then.`,
    row: `its token expires in ${left}; what it sends is refused then`,
    fix: `Put a new token into the sender before then: ${issueCommand(sender)}.`,
    userFix: NEW_TOKEN,
  };
};

const describeIntakeOff: DescribeSender = (sender) => {
  const row = 'LEADTAP_INTAKE is off: what it sends is answered with 404 and not kept';
  return {
    message: `LEADTAP_INTAKE is off: what ${describe(sender)} sends is answered with 404 and not kept.`,
    row,
    fix: `${SWITCH_ON} If the sender is switched off, revoke its token: ${revokeCommand(sender)}.`,
    userFix: ASK_TO_SWITCH_ON,
  };
};

const DESCRIPTIONS: Readonly<Record<SenderProblem, DescribeSender>> = {
  'leads-refused': describeRefused,
  'intake-off': describeIntakeOff,
  'senders-expired': describeExpired,
  'senders-expiring': describeExpiring,
};
