import { OTHER_WAYS, OUR_WAYS, type Outcome, SCENARIO_KEYS, TRIALS, type Way } from './poller-outcomes.ts';

const INTRODUCTION = `<!-- Made by \`npm run generate\` from tools/generate/poller-outcomes.ts, which test/pollers holds to be true. Edit those. -->

# What each way of polling loses and repeats

Each platform has its own way to poll. Here every one of them polls a real Leadtap every two minutes, while things happen that happen
in earnest. A figure is the number of leads that the automation did not get, or got again. **0** means that it got every lead once.
The figures are not estimates: [the tests](../../test/pollers) run all of it at every change and fail when one of them differs. Time is
simulated, so hours pass at once; the platforms are simulated too, as they document themselves, with their own helpers where
they can be had (Activepieces, the classes of n8n, Zapier's test runner).

No figure tells of leads that are gone. A lead that is lost to an automation is still in Leadtap: ask for it with \`since\`.`;

const OURS = `## With what we have for the platform`;

const OTHERS = `## Without it

The same with what a platform, or a user in a hurry, does by itself. The way around stands below each.`;

const READING = `**lost**: never came. **late**: had not come after ten hours, but leads still came. **twice**: how often the automation was started
again for a lead. **refused**: the polls after it ended in 429. –: not tried, in the first table because Zapier and the trigger of Power
Automate do not tell in which order they store and start.`;

const inWords = (count: number, word: string): string[] =>
  count > 0 ? [`**${count.toLocaleString('en-US')} ${word}**`] : [];

function cell(outcome: Outcome | undefined): string {
  if (!outcome) return '–';
  const { lost, late, twice, failed } = outcome;
  const parts = [...inWords(lost, 'lost'), ...inWords(late, 'late'), ...inWords(twice, 'twice')];
  return [...parts, ...(failed > 0 ? ['refused'] : [])].join(', ') || '0';
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function table(ways: readonly Way[]): string {
  return [
    row(['', ...ways.map(({ name }) => name)]),
    `|---|${'---|'.repeat(ways.length)}`,
    ...SCENARIO_KEYS.map((key) => row([TRIALS[key], ...ways.map(({ outcomes }) => cell(outcomes[key]))])),
  ].join('\n');
}

const toKnow = (ways: readonly Way[]): string =>
  ways.map(({ name, toKnow: text }) => `- **${name}.** ${text}`).join('\n');

/** docs/integrations/pollers.md: what each platform's way of polling loses and repeats. */
export function pollersDocument(): string {
  const ours = Object.values(OUR_WAYS);
  const others = Object.values(OTHER_WAYS);
  const parts = [INTRODUCTION, OURS, table(ours), READING, 'What to know:', toKnow(ours)];
  return `${[...parts, OTHERS, table(others), toKnow(others)].join('\n\n')}\n`;
}
