import { table } from './field-tables.ts';

type Variables = typeof import('../../packages/server/src/config.ts');

/** For docs/configuration.md. */
export async function variableTable(root: URL): Promise<string> {
  const { VARIABLES }: Variables = await import(new URL('packages/server/dist/config.js', root).href);
  return table(
    ['Variable', 'Default', 'Meaning'],
    Object.values(VARIABLES).map((variable) => [
      `\`${variable.name}\``,
      'default' in variable ? `\`${variable.default}\`` : 'none',
      variable.meaning,
    ]),
  );
}
