import { MAX_LEADS_PER_PAGE } from '@leadtap/contract';

/** The ways to poll that lose nothing. The code is run by a test. */
export interface Recipe {
  readonly title: string;
  readonly use: string;
  readonly code: string;
}

const START = '2026-03-02T09:30:00.000Z';

const followLink = (endpoint: string): Recipe => ({
  title: 'Follow the link',
  use: 'The simplest way. Every answer names the address of the next poll in its `Link` header: keep that address and nothing else.',
  code: `let next = '${endpoint}?since=${START}';

async function poll() {
  const answer = await fetch(next, { headers: { Authorization: \`Bearer \${token}\` } });
  if (!answer.ok) return; // the next poll asks the same again
  for (const lead of await answer.json()) await handle(lead);
  next = answer.headers.get('link').match(/<(.+)>/)[1]; // keep it
}`,
});

const lastCreatedAt = (endpoint: string): Recipe => ({
  title: 'Remember the last `createdAt`',
  use: 'For platforms that store a cursor. Leads come oldest first and no two of a company share a `createdAt`, so you may stop after any lead and go on from there.',
  code: `let since = '${START}';

async function poll() {
  const answer = await fetch(\`${endpoint}?since=\${since}\`, {
    headers: { Authorization: \`Bearer \${token}\` },
  });
  if (!answer.ok) return; // the next poll asks the same again
  for (const lead of await answer.json()) {
    await handle(lead);
    since = lead.createdAt; // keep it
  }
}`,
});

const dateOfAnswer = (endpoint: string): Recipe => ({
  title: 'Use the `Date` of the answer',
  use: 'For platforms that remember when they last polled. Take the time from the answer, never from your own clock. `Date` is cut to the second, so a lead may come twice: drop it by `automation_trigger_id`.',
  code: `let since = '${START}';
const seen = new Set(); // of automation_trigger_id

async function poll() {
  const answer = await fetch(\`${endpoint}?since=\${since}\`, {
    headers: { Authorization: \`Bearer \${token}\` },
  });
  if (!answer.ok) return; // the next poll asks the same again
  const leads = await answer.json();
  for (const lead of leads) {
    if (!seen.has(lead.automation_trigger_id)) await handle(lead);
    seen.add(lead.automation_trigger_id);
  }
  const full = leads.length === ${MAX_LEADS_PER_PAGE}; // more is waiting behind the last lead
  since = full ? leads.at(-1).createdAt : new Date(answer.headers.get('date')).toISOString();
}`,
});

export const recipes = (endpoint: string): readonly Recipe[] => [
  followLink(endpoint),
  lastCreatedAt(endpoint),
  dateOfAnswer(endpoint),
];
