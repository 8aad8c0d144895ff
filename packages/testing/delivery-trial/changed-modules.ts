/**
 * Instances of a trial can load modules of the built service with changes: shorter times that no setting changes, or a deliberate
 * defect.
 */

/** A part of a built module, which must occur once, and its replacement. */
export interface Replacement {
  /** Below `packages/server/dist/`. */
  readonly module: string;
  readonly part: string;
  readonly by: string;
}

const LOADER = `
  export async function load(url, context, next) {
    const loaded = await next(url, context);
    const replacements = REPLACEMENTS.filter(({ module }) => url.endsWith('/packages/server/dist/' + module));
    if (replacements.length === 0) return loaded;
    let source = String(Buffer.from(loaded.source));
    for (const { part, by } of replacements) {
      if (source.split(part).length !== 2) throw new Error('not once in ' + url + ': ' + part);
      source = source.replace(part, () => by);
    }
    return { ...loaded, source };
  }`;

const dataUrl = (script: string): string => `data:text/javascript,${encodeURIComponent(script)}`;

/** The environment of an instance. */
export function changedModules(replacements: readonly Replacement[]): { readonly NODE_OPTIONS: string } {
  const loader = dataUrl(`const REPLACEMENTS = ${JSON.stringify(replacements)};${LOADER}`);
  const register = `import { register } from 'node:module'; register(${JSON.stringify(loader)});`;
  return { NODE_OPTIONS: `--import ${dataUrl(register)}` };
}
