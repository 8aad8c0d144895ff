import { WHOLE_COMPANY } from '../../made-up/organisation.ts';
import type { Bench, Section, SectionResult } from '../../section.ts';
import { type Contestant, captureAnswers, LEAST, startContestants } from './contestants.ts';
import { type Data, startDeployments } from './deployments.ts';
import { checkGenerator, generatorTable } from './generator-check.ts';
import { isKind, KINDS, type Kind } from './kinds.ts';
import { compareLatencies, type LatencyFigures } from './latency.ts';
import { pollsPlot } from './plot.ts';
import { compareRates, loadOf, type RateFigures } from './rounds.ts';
import { latencyTable, rateTable } from './tables.ts';
import { verdictsOf } from './verdicts.ts';

/**
 * 60 users of each company poll, and all 500 for the kind `many`: so many that none comes near a limit of 100 polls a
 * minute and 1,000 an hour. They see the leads of a whole company; the growth section has all three access levels.
 */
const FULL: Data = {
  companies: 100,
  usersPerCompany: 500,
  fewPerCompany: 60,
  places: WHOLE_COMPANY,
  leadsPerCompany: 1200,
};
const QUICK: Data = { ...FULL, companies: 10, fewPerCompany: 500 };

const WARM_UP: readonly Kind[] = ['empty', 'since', 'empty', 'empty'];
const WARM_UP_TURN = { seconds: 3, answersEach: 12 };

async function measure(bench: Bench): Promise<SectionResult> {
  const { quick } = bench.options;
  const kinds = kindsOf(bench);
  const deployments = await startDeployments(bench, quick ? QUICK : FULL);
  const answers = await captureAnswers(deployments.sqlite);
  const contestants = await startContestants(bench, deployments, answers);
  await warmUp(bench, contestants);
  const rates: Partial<Record<Kind, RateFigures[]>> = {};
  const latencies: Partial<Record<Kind, LatencyFigures[]>> = {};
  const alone = contestants.filter(({ name, ports }) => name !== LEAST && ports.length === 1);
  for (const kind of kinds) {
    if (kind === 'many') await pollOnceEach(bench, contestants, kind);
    rates[kind] = await compareRates(bench, kind, contestants, quick ? 0.25 : 1.2);
    if (kind === 'empty' || kind === 'since')
      latencies[kind] = await compareLatencies(bench, kind, alone, rates[kind], quick ? 0.5 : 3);
  }
  const generator = await checkGenerator(bench, answers, rates);
  return {
    tables: [
      ...Object.entries(rates).map(([kind, figures]) => rateTable(kind as Kind, figures)),
      ...Object.entries(latencies).map(([kind, figures]) => latencyTable(kind as Kind, figures)),
      ...(generator.length > 0 ? [generatorTable(generator)] : []),
    ],
    verdicts: verdictsOf(rates, latencies),
    figures: { kinds: KINDS, rates, latencies, generator },
    plot: pollsPlot(rates),
  };
}

/**
 * A service runs for weeks; Node's compiler takes some 200,000 polls to be done with it, and far fewer with a bare server.
 * By turns, so that no user comes near a limit.
 */
async function warmUp(bench: Bench, contestants: readonly Contestant[]): Promise<void> {
  await pollOnceEach(bench, contestants, 'empty');
  for (const [turn, kind] of WARM_UP.entries()) {
    bench.progress(`warming up: ${turn + 1} of ${WARM_UP.length}`);
    for (const contestant of contestants) {
      await contestant.prepare(kind);
      await bench.generator.closedLoop(loadOf(contestant, kind), WARM_UP_TURN);
      await contestant.finish(kind);
    }
  }
}

/** A round is too short for the first polls of all users, so that they would be most of what is measured. */
async function pollOnceEach(bench: Bench, contestants: readonly Contestant[], kind: Kind): Promise<void> {
  bench.progress('every user polls once');
  for (const contestant of contestants.filter(({ without }) => !without.includes(kind))) {
    await contestant.prepare(kind);
    await bench.generator.once(loadOf(contestant, kind));
    await contestant.finish(kind);
  }
}

function kindsOf({ options: { kinds } }: Bench): readonly Kind[] {
  const unknown = kinds.find((name) => !isKind(name));
  if (unknown !== undefined)
    throw new Error(`there is no kind ${unknown}; there are ${Object.keys(KINDS).join(', ')}`);
  return kinds.length > 0 ? kinds.filter(isKind) : (Object.keys(KINDS) as Kind[]);
}

export const polls: Section = {
  name: 'polls',
  about: 'polls a second and what they cost, next to a bare server and a hand-written one',
  measure,
};
