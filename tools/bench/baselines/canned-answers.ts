import type { CannedAnswer } from './messages.ts';

/** Node.js adds these by itself, for the service as for a baseline. */
const OF_NODE = ['connection', 'keep-alive'];

const filterHeaders = (answer: CannedAnswer, keep: (name: string) => boolean): CannedAnswer => {
  const headers: string[] = [];
  for (let at = 0; at < answer.headers.length; at += 2) {
    const [name = '', value = ''] = answer.headers.slice(at, at + 2);
    if (keep(name.toLowerCase())) headers.push(name, value);
  }
  return { ...answer, headers };
};

/** All that the service sent, for a server that answers from constants. */
export const sameAnswer = (answer: CannedAnswer): CannedAnswer =>
  filterHeaders(answer, (name) => !OF_NODE.includes(name));

/** The least that one can send: Node.js adds the date. */
export const leastAnswer = (answer: CannedAnswer): CannedAnswer =>
  filterHeaders(answer, (name) => ['content-type', 'content-length'].includes(name));

const namesOf = ({ headers }: CannedAnswer): string =>
  headers
    .filter((_, at) => at % 2 === 0)
    .join(', ')
    .toLowerCase();

/** A baseline that sends something else measures nothing. */
export function expectSameAnswer(ours: CannedAnswer, baseline: CannedAnswer): void {
  if (namesOf(ours) !== namesOf(baseline))
    throw new Error(`the bare server sends the headers ${namesOf(baseline)}, the service ${namesOf(ours)}`);
  if (Buffer.compare(ours.body, baseline.body) !== 0) throw new Error('the bare server sends another body');
}
