/** What is said of connections: sent, waiting, missed, held, lost. */
import type { Fault } from './fault.ts';

const SRC = 'packages/server/src/connections';
const TESTS = 'packages/server/test/connections';

export const CONNECTIONS: readonly Fault[] = [
  {
    name: 'answer-that-was-cut-off-counts-as-sent',
    breaks: 'A page that was not written to the end is said to be sent.',
    file: `${SRC}/recorder.ts`,
    find: 'isSent: isSent || (leads.count === 0 && !isInterrupted),',
    replace: 'isSent: isSent || isInterrupted,',
    owner: `${TESTS}/what-is-said-equals-what-was-sent.test.ts`,
  },
  {
    name: 'passed-leads-are-not-noticed',
    breaks: 'An automation asks past a lead, and its row stays green.',
    file: `${SRC}/state-sql.ts`,
    find: `AND l.created_at <= leadtap.from_ms($3) AND \${IS_MEANT} AND \${NO_DELIVERY} AND \${NOT_MISSED}
          ORDER BY`,
    replace: `AND l.created_at < leadtap.from_ms($2) AND \${IS_MEANT} AND \${NO_DELIVERY} AND \${NOT_MISSED}
          ORDER BY`,
    owner: `${TESTS}/what-was-sent-is-recorded.test.ts`,
  },
  {
    name: 'missed-leads-are-green',
    breaks: 'A row says that leads were not received, and is green.',
    file: `${SRC}/rules.ts`,
    find: "{ name: 'missed', level: 'error', when: ({ missed }) => missed.passed > 0, ...MISSED },",
    replace: "{ name: 'missed', level: 'good', when: ({ missed }) => missed.passed > 0, ...MISSED },",
    owner: `${TESTS}/rules-say-what-is-sent-owed-and-lost.test.ts`,
  },
  {
    name: 'imported-history-is-missed',
    breaks: 'An import of old contacts turns every automation red.',
    file: `${SRC}/state-sql.ts`,
    find: 'AND l.created_at = l.automation_created_at AND ',
    replace: 'AND ',
    owner: `${TESTS}/what-was-sent-is-recorded.test.ts`,
  },
  {
    name: 'a-person-moves-the-position',
    breaks: 'Somebody tries the token of an automation, and leads count as received or missed.',
    file: `${SRC}/polls.ts`,
    find: 'const counts = isCounted(before, run, style);',
    replace: 'const counts = isCounted(before, run, style) || run.times > 0;',
    owner: `${TESTS}/what-was-sent-is-recorded.test.ts`,
  },
  {
    name: 'bursts-are-lost-without-since',
    breaks: 'Of a burst of more than a page, a client without `since` gets the newest page only.',
    file: `${SRC}/polls.ts`,
    find: 'after: isRecent ? hadBefore(connection, now) : null,',
    replace: 'after: null,',
    owner: `${TESTS}/bursts-leave-no-gap.test.ts`,
  },
  {
    name: 'a-test-owes-leads',
    breaks: 'A token that a person tried once is red for ever after it was revoked.',
    file: `${SRC}/changes-sql.ts`,
    find: 'const endStamp = connection.workedAt === null ? (connection.startStamp ?? 0) : (row?.lastStamp ?? 0);',
    replace: 'const endStamp = row?.lastStamp ?? 0;',
    owner: `${TESTS}/keys-come-and-go.test.ts`,
  },
  {
    name: 'handled-takes-what-waits',
    breaks: 'Mark as handled on a working automation takes leads that it would still get.',
    file: `${SRC}/changes-sql.ts`,
    find: "if (endsWaiting && connection.kind !== 'send') {",
    replace: "if (connection.kind !== 'send' || endsWaiting) {",
    owner: `${TESTS}/what-was-sent-is-recorded.test.ts`,
  },
  {
    name: 'downtime-is-silence',
    breaks: 'After the service was down, every automation is said to be silent.',
    file: `${SRC}/rules.ts`,
    find: 'return dead.reduce((rest, ms) => rest - Math.max(0, ms), now - since);',
    replace: 'return dead.reduce((rest) => rest, now - since);',
    owner: `${TESTS}/rules-say-what-is-sent-owed-and-lost.test.ts`,
  },
  {
    name: 'leads-that-wait-for-an-ended-one-are-forgotten',
    breaks: 'A token is revoked while leads wait for it, and its row disappears.',
    file: `${SRC}/rules.ts`,
    find: "facts.state === 'ended' && facts.workedAt !== null && missedOf(facts) + facts.pruned + facts.waiting > 0;",
    replace: "facts.state === 'ended' && facts.workedAt !== null && missedOf(facts) + facts.pruned > 0;",
    owner: `${TESTS}/keys-come-and-go.test.ts`,
  },
  {
    name: 'renewed-token-stays',
    breaks: 'The old token polls for ever after the new one is used.',
    file: `${SRC}/record-sql.ts`,
    find: 'if (replacesPoller && poll) yield*',
    replace: 'if (replacesPoller && !poll) yield*',
    owner: `${TESTS}/keys-come-and-go.test.ts`,
  },
  {
    name: 'renewed-token-of-a-form-ends',
    breaks: 'The token of a form is renewed, and the pages that have the old one lose leads.',
    file: `${SRC}/record-sql.ts`,
    find: "const POLLS_STILL = `o.scope = 'leads:read'",
    replace: "const POLLS_STILL = `o.scope <> ''",
    owner: `${TESTS}/keys-come-and-go.test.ts`,
  },
  {
    name: 'owed-leads-of-others-are-listed',
    breaks: 'A user reads which leads wait for the automation of somebody else.',
    file: `${SRC}/endpoint.ts`,
    find: 'return isListed(connection, user) ? store.listOwed(connection.id, before, limit) : undefined;',
    replace: 'return connection ? store.listOwed(connection.id, before, limit) : undefined;',
    owner: `${TESTS}/owed-leads-are-listed.test.ts`,
  },
  {
    name: 'unknown-senders-are-stored-by-name',
    breaks: 'A token that was not verified makes a row of the user that it names.',
    file: `${SRC}/recorder.ts`,
    find: "      userId: '',\n      kind: 'send',\n      keyId: DOOR_ID,",
    replace: "      userId: run.code ?? '',\n      kind: 'send',\n      keyId: DOOR_ID,",
    owner: `${TESTS}/requests-that-send-leads-are-counted.test.ts`,
  },
];
