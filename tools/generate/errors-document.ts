import { exampleProblem, PROBLEM_CODES, PROBLEM_GUIDE, PROBLEMS, type ProblemCode } from '@leadtap/contract';

const INTRODUCTION = `<!-- Made by \`npm run generate\` from packages/contract/src/problem-guide.ts and problems.ts. Edit those. -->

# Problems

Every answer with a status of 400 or above is a problem as RFC 9457 writes it, \`application/problem+json\`:

- \`code\` is the name to program against. It never changes its meaning.
- \`detail\` says what happened this time and what to do. Its wording may change.
- \`requestId\` is the same as in the header \`X-Request-Id\`. Quote it when you ask for help.

No problem loses a lead: keep the \`since\` you had and go on with it. Repeat a request by itself only after 408, 429, 500
and 503; any other problem needs a person first. The examples show the general \`detail\`; an answer may say more.`;

function summary(): string {
  const rows = PROBLEM_CODES.map((code) => {
    const { status, title } = PROBLEMS[code];
    return `| ${status} | [\`${code}\`](#${code}) | ${title} |`;
  });
  return ['| status | code | title |', '|---|---|---|', ...rows].join('\n');
}

function section(code: ProblemCode): string {
  const { meaning, integrator, operator } = PROBLEM_GUIDE[code];
  const example = JSON.stringify(exampleProblem(code), null, 2);
  return [
    `## ${code}`,
    meaning,
    `\`\`\`json\n${example}\n\`\`\``,
    `**Integrator:** ${integrator}`,
    `**Operator:** ${operator}`,
  ].join('\n\n');
}

/** docs/errors.md: a section for each problem. */
export function errorsDocument(): string {
  return `${[INTRODUCTION, summary(), ...PROBLEM_CODES.map(section)].join('\n\n')}\n`;
}
