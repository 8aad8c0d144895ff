import { startBaseline } from '../../baselines/baseline.ts';
import { sameAnswer } from '../../baselines/canned-answers.ts';
import { share, whole } from '../../report/figures.ts';
import { median } from '../../report/statistics.ts';
import type { Table } from '../../report/table.ts';
import type { Bench } from '../../section.ts';
import { BARE, type CannedAnswers } from './contestants.ts';
import type { Kind } from './kinds.ts';
import { CONNECTIONS, type RateFigures } from './rounds.ts';

export interface GeneratorFigures {
  readonly kind: Kind;
  /** Requests a second against a responder that only writes constant bytes to a socket. */
  readonly ceiling: number;
  readonly ceilingGeneratorShare: number;
  /** The fastest that was measured. */
  readonly bare: number;
  readonly bareServerShare: number;
  readonly bareGeneratorShare: number;
  /** The bare server used its core up, and the generator did not. */
  readonly serverBound: boolean;
}

/** Was the load generator in the way? Shows how much faster it is than the fastest server it is set upon. */
export async function checkGenerator(
  bench: Bench,
  answers: CannedAnswers,
  rates: Partial<Record<Kind, readonly RateFigures[]>>,
): Promise<GeneratorFigures[]> {
  const responder = bench.cleanup.own(await startBaseline('raw'));
  const figures: GeneratorFigures[] = [];
  for (const kind of ['empty', 'since'] as const) {
    const bare = rates[kind]?.find(({ contestant }) => contestant === BARE);
    if (!bare) continue;
    bench.progress(`the load generator alone: ${kind}`);
    await responder.answer({ answers: (answers.get(kind) ?? []).map(sameAnswer) });
    const reports = [];
    for (let round = 0; round < 3; round += 1)
      reports.push(
        await bench.generator.closedLoop(
          {
            requests: `bare ${kind}`,
            ports: [responder.port],
            connections: CONNECTIONS,
            processes: { server: [responder.pid] },
          },
          { seconds: 1 },
        ),
      );
    figures.push({
      kind,
      ceiling: median(reports.map(({ answers: count, seconds }) => count / seconds)),
      ceilingGeneratorShare: median(reports.map(({ generatorMs, seconds }) => generatorMs / seconds / 1000)),
      bare: bare.perSecond.median,
      bareServerShare: bare.serverShare,
      bareGeneratorShare: bare.generatorShare,
      serverBound: bare.serverBound,
    });
  }
  return figures;
}

export const generatorTable = (figures: readonly GeneratorFigures[]): Table => ({
  title: 'Was the load generator in the way?',
  columns: [
    '',
    'against plain sockets',
    'its core then',
    'against the bare server',
    'its core then',
    "the server's core",
    '',
  ],
  rows: figures.map((figure) => [
    figure.kind,
    `${whole(figure.ceiling)}/s`,
    share(figure.ceilingGeneratorShare),
    `${whole(figure.bare)}/s`,
    share(figure.bareGeneratorShare),
    share(figure.bareServerShare),
    figure.serverBound ? 'no: the server was the limit' : 'PERHAPS: the bare server did not use up its core',
  ]),
});
