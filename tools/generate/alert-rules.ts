import { table } from './field-tables.ts';

type Rules = typeof import('../../packages/server/src/status/rules.ts');
type Rule = Rules['RULES'][number];

export const readRules = async (root: URL): Promise<readonly Rule[]> => {
  const { RULES }: Rules = await import(new URL('packages/server/dist/status/rules.js', root).href);
  return RULES;
};

/** So that a problem of seconds alarms no one. */
const FOR = { error: '5m', warning: '15m' } as const;

/** `disk-low` → `DiskLow` */
const toPascalCase = (name: string): string =>
  name.replace(/(?:^|-)(\w)/g, (_, first) => first.toUpperCase());

/** One alert for each rule that is an error or a warning. All instances report the same, or have a problem of their own: so the maximum. */
export async function alertRules(root: URL): Promise<string> {
  const rules = (await readRules(root)).flatMap((rule) => rule.levels.map((level) => ({ ...rule, level })));
  const alerts = rules.flatMap(({ name, level, title }) =>
    level === 'unknown'
      ? []
      : [
          `      - alert: Leadtap${toPascalCase(name)}${level === 'warning' ? 'Warning' : ''}`,
          `        expr: max(leadtap_problem{name="${name}",level="${level}"}) == 1`,
          `        for: ${FOR[level]}`,
          `        labels:`,
          `          severity: ${level}`,
          `        annotations:`,
          `          summary: '${title}'`,
          `          description: 'The status page and \`leadtap doctor\` say whom it concerns and what to do. The service explains it at {base_url}/docs#${name}.'`,
          '',
        ],
  );
  return alerts.join('\n');
}

/** For docs/problems.md. */
export async function problemTable(root: URL): Promise<string> {
  const rows = (await readRules(root)).map(({ name, levels, title, guide }) => [
    ...[`\`${name}\``, levels.join(', '), title, guide],
  ]);
  return table(['name', 'level', 'meaning', 'what to do'], rows);
}
